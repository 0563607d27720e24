-- What an event costs the account's budget of bytes (shared/budgets.ts, ledger_bytes): its row, and one
-- of a delivery for each webhook that gets it, with what their indexes take.
create function ledger_cost(p_account_id uuid, p_mode text, p_type text, p_bytes integer) returns bigint
language sql stable as $$
  select 512 + p_bytes + 1024 * count(*)
    from webhooks
   where account_id = p_account_id and mode = p_mode and status <> 'disabled' and events && array['*', p_type];
$$;
