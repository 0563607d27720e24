-- Creations in bulk take from a budget of their own (shared/budgets.ts, bulk_rows).
drop function spend_endpoint(uuid, text, text, integer);
