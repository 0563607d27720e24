export const Logo = () => (
  <span className="logo">
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path
        d="M7 21c2-9 7-9 9-2s7 7 9-4"
        fill="none"
        stroke="#fff"
        strokeWidth="3"
        strokeLinecap="round"
      />
      <circle cx="25" cy="13.5" r="2.6" fill="#fff" />
    </svg>
    Shorthop
  </span>
);
