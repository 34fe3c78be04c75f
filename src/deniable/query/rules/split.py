"""Rule `split`: the price of all totals together, and of each other part."""

from dataclasses import replace

from deniable.query.rules.plan import Plan


def split(plan: Plan) -> Plan:
    """Return the plan with its price split between totals and other parts.

    Every part that is not a total gets one share, the totals all of theirs.

    A search for keys counts as a total, since it shares their noise.
    """
    totals = len(plan.totals) + plan.queries[0].question.searched
    others = sum(map(len, plan.parts)) - len(plan.totals)
    equal = plan.cost.split(*(1 for _ in range(totals + others)))[0]
    whole = plan.cost if not others else plan.cost.split(max(1, totals), others)[0]
    return replace(plan, totals_price=whole, part_price=equal)
