-- How QR codes of an account look unless a request says otherwise; null is black on white.
alter table account_branding
  add column qr_style jsonb check (jsonb_typeof(qr_style) = 'object' and octet_length(qr_style::text) <= 1000);
