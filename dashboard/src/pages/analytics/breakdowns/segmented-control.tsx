type SegmentedControlProps<Name extends string> = {
  label: string;
  /** Labels of the options, by name. */
  options: Readonly<Partial<Record<Name, string>>>;
  selected: Name;
  onSelect: (name: Name) => void;
};

/** Selects one of a few options. */
export function SegmentedControl<Name extends string>({
  label,
  options,
  selected,
  onSelect,
}: SegmentedControlProps<Name>) {
  return (
    <div className="segmented segmented-small" role="group" aria-label={label}>
      {(Object.keys(options) as Name[]).map((name) => (
        <button
          key={name}
          type="button"
          aria-pressed={name === selected}
          onClick={() => onSelect(name)}
        >
          {options[name]}
        </button>
      ))}
    </div>
  );
}
