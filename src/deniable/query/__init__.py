"""SQL to releases: catalog, plan, rules, engines."""
