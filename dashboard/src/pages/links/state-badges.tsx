import { describeFeatures, describeState } from "./state.ts";

type LinkWithState = Parameters<typeof describeState>[0] & Parameters<typeof describeFeatures>[0];

/** The state and the features of a link as labels, with tooltips that explain them. */
export const StateBadges = ({ link }: { link: LinkWithState }) => (
  <span className="badges">
    {[...describeState(link), ...describeFeatures(link)].map(({ label, meaning, bad }) => (
      <span key={label} className={bad === true ? "badge badge-bad" : "badge"} title={meaning}>
        {label}
      </span>
    ))}
  </span>
);

/** Explains what the state of a link means for its visitors, one line for each. */
export const StateMeanings = ({ link }: { link: LinkWithState }) =>
  describeState(link).map(
    ({ label, meaning, bad }) =>
      meaning !== undefined && (
        <p key={label} className={bad === true ? "alert" : "warning"}>
          <strong>{label}.</strong> {meaning}
        </p>
      ),
  );
