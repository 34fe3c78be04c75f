"""Append-only tables of a ledger on PostgreSQL, and facts that reveal a change."""

from hashlib import sha256

_GUARD = """
BEGIN
    IF TG_OP = 'INSERT' AND TG_TABLE_NAME = 'records' THEN
        IF NEW.number = (SELECT COALESCE(MAX(head.number) + 1, 0) FROM head) THEN RETURN NEW; END IF;
    ELSIF TG_OP = 'INSERT' AND TG_TABLE_NAME = 'head' THEN
        IF NEW.number = 0 AND NOT EXISTS (SELECT FROM head) THEN RETURN NEW; END IF;
    ELSIF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'head' THEN
        IF NEW.number = OLD.number + 1 AND NEW.hash = (SELECT hash FROM records WHERE number = NEW.number)
            THEN RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END"""

TABLES = f"""
CREATE TABLE records (
    number BIGINT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('opening', 'entry', 'answer', 'key', 'source')),
    question TEXT,
    entry BIGINT UNIQUE REFERENCES records (number),
    body TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX questions ON records (question, number) WHERE question IS NOT NULL;
CREATE INDEX sources ON records (number) WHERE kind = 'source';
CREATE TABLE head (
    "only" BIGINT PRIMARY KEY CHECK ("only" = 1),
    number BIGINT NOT NULL,
    hash TEXT NOT NULL
);
CREATE TABLE keys (name TEXT PRIMARY KEY, key BYTEA NOT NULL);
CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $guard${_GUARD}$guard$;
CREATE TRIGGER rows_guard BEFORE INSERT OR UPDATE OR DELETE ON records FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TRIGGER rows_guard BEFORE INSERT OR UPDATE OR DELETE ON head FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TRIGGER rows_guard BEFORE UPDATE OR DELETE ON keys FOR EACH ROW EXECUTE FUNCTION guard();
CREATE TRIGGER table_guard BEFORE TRUNCATE ON records EXECUTE FUNCTION guard();
CREATE TRIGGER table_guard BEFORE TRUNCATE ON head EXECUTE FUNCTION guard();
CREATE TRIGGER table_guard BEFORE TRUNCATE ON keys EXECUTE FUNCTION guard();
"""

# What is in the schema, in words that no version of the server writes otherwise.
FACTS = """
WITH here AS (SELECT oid FROM pg_namespace WHERE nspname = current_schema()),
    tables AS (SELECT oid, relname, relkind, relpersistence FROM pg_class WHERE relnamespace IN (SELECT oid FROM here))
SELECT 'relation.' || relname || ':' || relkind::text || relpersistence::text FROM tables
UNION ALL SELECT relname || '.' || attname || ':' || format_type(atttypid, -1)
    || CASE WHEN attnotnull THEN '!' ELSE '' END
FROM tables JOIN pg_attribute ON attrelid = tables.oid WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT 'constraint.' || conname || ':' || contype::text || conkey::text || convalidated::text
FROM pg_constraint WHERE connamespace IN (SELECT oid FROM here) AND contype IN ('c', 'f', 'p', 'u')
UNION ALL SELECT 'trigger.' || relname || '.' || tgname || ':' || tgenabled::text || tgtype::text || proname
FROM tables JOIN pg_trigger ON tgrelid = tables.oid JOIN pg_proc ON pg_proc.oid = tgfoid WHERE NOT tgisinternal
UNION ALL SELECT 'rule.' || relname || '.' || rulename || ':' FROM pg_rewrite JOIN tables ON tables.oid = ev_class
UNION ALL SELECT 'function.' || proname || ':' || encode(sha256(convert_to(prosrc, 'UTF8')), 'hex')
FROM pg_proc WHERE pronamespace IN (SELECT oid FROM here)"""

GUARDED = frozenset(f"""
records.number:bigint! records.kind:text! records.question:text records.entry:bigint records.body:text!
records.hash:text! head.only:bigint! head.number:bigint! head.hash:text! keys.name:text! keys.key:bytea!
migrations.number:bigint! migrations.name:text!
relation.records:rp relation.records_pkey:ip relation.records_entry_key:ip relation.questions:ip relation.sources:ip
relation.head:rp relation.head_pkey:ip relation.keys:rp relation.keys_pkey:ip relation.migrations:rp
relation.migrations_pkey:ip
constraint.records_pkey:p{{1}}true constraint.records_kind_check:c{{2}}true constraint.records_entry_key:u{{4}}true
constraint.records_entry_fkey:f{{4}}true constraint.head_pkey:p{{1}}true constraint.head_only_check:c{{1}}true
constraint.keys_pkey:p{{1}}true constraint.migrations_pkey:p{{1}}true
trigger.records.rows_guard:O31guard trigger.records.table_guard:O34guard trigger.head.rows_guard:O31guard
trigger.head.table_guard:O34guard trigger.keys.rows_guard:O27guard trigger.keys.table_guard:O34guard
function.guard:{sha256(_GUARD.encode()).hexdigest()}
""".split())  # fmt: skip
