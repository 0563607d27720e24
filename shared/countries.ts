/** Codes of countries that clicks, rules and filters can have. */

export const UNKNOWN_COUNTRY = "ZZ";

/** ISO 3166-1, and Kosovo's code, which GeoIP data use. */
export const COUNTRIES: ReadonlySet<string> = new Set(
  `
  AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC
  CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD
  GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH
  KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW
  MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC
  SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY
  UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW
`
    .trim()
    .split(/\s+/),
);

/** Common codes that differ from ISO 3166-1. */
const REPLACEMENTS: Readonly<Record<string, string>> = { UK: "GB", EL: "GR" };

/** Whether a code in upper case is that of a country. */
export const isCountry = (code: string): boolean => COUNTRIES.has(code);

/** The code that ISO 3166-1 has for a country with another common code in upper case. */
export const replacementOf = (code: string): string | undefined => REPLACEMENTS[code];

/** Why no visitor can have a country of this code in upper case; undefined if one can. */
export function findCountryProblem(code: string): string | undefined {
  if (isCountry(code) || code === UNKNOWN_COUNTRY) return undefined;
  const replacement = replacementOf(code);
  return replacement === undefined
    ? `${code} is no country of ISO 3166-1; ${UNKNOWN_COUNTRY} stands for an unknown one`
    : `ISO 3166-1 has ${replacement} for ${code}`;
}
