/**
 * Maps the columns of other services' exports to fields of links. docs/imports.md says where each
 * list of columns is from. Names differ between versions: they are compared in lower case, by their
 * letters without accents and their digits.
 */
import type { TagSeparator } from "./cells.ts";
import {
  type ColumnTarget,
  type IgnoredReason,
  IMPORT_FIELDS,
  type ImportField,
  type Mapping,
} from "./fields.ts";

/**
 * Names of columns in German, French and Spanish, without accents, by field and by what is not
 * imported.
 */
const toList = (text: string): readonly string[] => text.split(" ");

const FOREIGN_NAMES: readonly (readonly [ImportField, readonly string[]])[] = [
  [
    "url",
    toList(
      "zielurl ziel zieladresse langeurl langurl ursprungsurl urlcible cible urldedestination urllongue urloriginale lienoriginal urldedestino destino urllarga urloriginal enlaceoriginal",
    ),
  ],
  ["short_url", toList("kurzurl kurzeurl kurzlink urlcourte liencourt urlcorta enlacecorto")],
  ["alias", toList("kurzel kurzname kurzcode codecourt codigocorto")],
  ["domain", toList("domane domaine dominio")],
  ["title", toList("titel bezeichnung beschreibung titre nom titulo nombre descripcion")],
  [
    "notes",
    toList(
      "notiz notizen bemerkung bemerkungen kommentar commentaire commentaires remarque remarques nota notas comentario comentarios",
    ),
  ],
  [
    "tags",
    toList(
      "schlagworter schlagworte schlagwort stichworter stichworte etiquettes motscles etiquetas",
    ),
  ],
  ["archived", toList("archiviert archive archivado")],
  ["status", toList("zustand statut etat estado")],
  [
    "expires_at",
    toList(
      "ablauf ablaufdatum gultigbis lauftabam expiration dateexpiration datedexpiration expirele valablejusquau caducidad vencimiento fechadecaducidad fechadevencimiento fechadeexpiracion expira validohasta",
    ),
  ],
  ["starts_at", toList("beginn startdatum gultigab debut datededebut inicio fechadeinicio")],
  ["password", toList("passwort kennwort motdepasse contrasena")],
  ["max_clicks", toList("klicklimit maximaleklicks limitedeclics limitedeclics clicsmaximum")],
  ["disabled", toList("deaktiviert desactive desactivado")],
  ["external_id", toList("externeid idexterne identifiantexterne idexterno")],
  ["utm_source", toList("utmquelle utmfuente")],
  ["utm_medium", toList("utmmedio utmsupport")],
  ["utm_campaign", toList("utmkampagne utmcampagne utmcampana")],
  ["utm_term", toList("utmsuchbegriff utmbegriff utmterme utmtermino")],
  ["utm_content", toList("utminhalt utmcontenu utmcontenido")],
  // Names of an only column of links: others are better, where there are any.
  ["url", toList("adresse lien enlace")],
];

const FOREIGN_IGNORED: readonly (readonly [IgnoredReason, readonly string[]])[] = [
  ["clicks", toList("klicks aufrufe clics visites visitas")],
  [
    "created",
    toList(
      "erstellt erstelltam angelegt angelegtam erstellungsdatum cree creele datedecreation creado creadoel fechadecreacion geandertam",
    ),
  ],
  ["author", toList("ersteller autor erstelltvon auteur creepar creadopor")],
];

export type Service = {
  name: string;
  /** Columns that identify the service: all of one list. */
  signatures: readonly (readonly string[])[];
  /** Names of its fields that mean something else elsewhere, in order of preference. */
  names?: readonly FieldNames[];
  /** Columns that are not imported, though their names are those of fields. */
  ignored?: ReadonlyMap<string, IgnoredReason>;
  separator?: TagSeparator;
  /** Its cells are escaped against formulas, as this dashboard does it. */
  isEscaped?: true;
};

type FieldNames = readonly [ImportField, readonly string[]];

/**
 * A file that this dashboard has exported: the columns alias and domain say what the short URL
 * says.
 */
const OWN: Service = {
  name: "Shorthop",
  signatures: [["shorturl", "originalurl", "alias"]],
  ignored: new Map([["shorturl", "repeats"]]),
  separator: ",",
  isEscaped: true,
};

/** The first that matches. */
const SERVICES: readonly Service[] = [
  {
    name: "Bitly",
    signatures: [
      ["link", "customlink", "destinationurl"],
      ["link", "engagements", "destinationurl"],
      ["bitlink"],
    ],
    separator: ",",
  },
  {
    name: "Dub",
    signatures: [["shortlink", "destinationurl"]],
    separator: ",",
  },
  {
    name: "Short.io",
    signatures: [
      ["idstring", "originalurl"],
      ["idstrings", "originalurls"],
      ["originalpath", "originalurl"],
      ["shorturl", "originalurl", "path"],
    ],
    separator: ",",
  },
  {
    name: "Rebrandly",
    signatures: [
      ["slashtag", "destination"],
      ["shorturl", "destination"],
    ],
    separator: ",",
  },
  {
    name: "YOURLS",
    signatures: [
      ["keyword", "url"],
      ["source", "target", "hits"],
    ],
    names: [["alias", ["keyword", "source"]]],
  },
  {
    name: "Shlink",
    signatures: [
      ["shortcode", "longurl"],
      // Earlier web clients have neither domain nor shortCode.
      ["createdat", "shorturl", "longurl", "visits"],
    ],
    separator: "|",
  },
  {
    name: "Kutt",
    signatures: [["address", "target"]],
    names: [["alias", ["address"]]],
  },
  OWN,
];

/** Names of each field in exports, in order of preference. */
const NAMES: readonly FieldNames[] = [
  [
    "url",
    toList(
      "originalurl originalurls longurl destinationurl destination targeturl target url longlink redirecturl link",
    ),
  ],
  ["custom_short_url", ["customlink", "custombitlink", "customshorturl", "customurl"]],
  [
    "alias",
    toList(
      "alias slug shortcode slashtag keyword customslug backhalf custombackhalf customalias originalpath originalpaths path key",
    ),
  ],
  ["short_url", ["shorturl", "shorturls", "shortlink", "bitlink", "link"]],
  ["domain", ["domain", "domainfullname", "domainname", "shortdomain"]],
  ["title", ["title", "titles", "name", "description"]],
  ["notes", ["notes", "note", "comment", "comments", "remark", "remarks"]],
  ["tags", ["tags", "tag", "labels"]],
  ["archived", ["archived", "isarchived", "hidden"]],
  ["status", ["status", "state", "active", "isactive", "enabled", "isenabled"]],
  ["disabled", ["disabled", "isdisabled", "banned"]],
  [
    "expires_at",
    ["expiresat", "expiresatdate", "validuntil", "expirein", "expirationdate", "expires", "expiry"],
  ],
  ["expired_url", ["expiredurl", "expirationurl"]],
  ["starts_at", ["startsat", "validsince"]],
  ["max_clicks", ["maxclicks", "clickslimit", "maxvisits"]],
  ["password", ["password"]],
  ["has_password", ["haspassword", "passwordprotected", "passwordenabled"]],
  ...FOREIGN_NAMES,
  // The others have their own name.
  ...IMPORT_FIELDS.map((field) => [field, [normalizeName(field)]] as const),
];

/** Names that are recognized, and have nothing to set here. */
const IGNORED: ReadonlyMap<string, IgnoredReason> = new Map(
  (
    [
      ["clicks", ["clicks", "hits", "visits", "engagements", "totalclicks", "humanclicks"]],
      ["clicks", ["leads", "conversions", "revenue", "sales", "lastclicked", "lastclickat"]],
      ["created", ["created", "createdat", "createdatdate", "datecreated", "timestamp"]],
      ["created", ["updated", "updatedat", "updatedatdate", "dateupdated", "creationdate"]],
      ["identifier", ["id", "idstring", "idstrings", "linkid"]],
      ["author", ["ip", "createdby", "creator", "user", "userid", "ownerid"]],
      ["devices", ["iphoneurl", "androidurl", "ios", "android", "iosurl"]],
      ["report", ["importrow", "importreason"]],
      ...FOREIGN_IGNORED,
    ] as const
  ).flatMap(([reason, names]) => names.map((name) => [name, reason] as const)),
);

/** A column that only our list of rows that were not imported has: see `printReport`. */
const REPORT_COLUMN = "importreason";

/** Lowercases a name and leaves only letters, without accents, and digits. */
function normalizeName(name: string): string {
  return name
    .toLowerCase()
    .normalize("NFKD")
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** Returns the service that writes these columns; undefined for an unknown one. */
export function recognizeService(columns: readonly string[]): Service | undefined {
  const names = new Set(columns.map(normalizeName));
  return SERVICES.find(({ signatures }) =>
    signatures.some((signature) => signature.every((name) => names.has(name))),
  );
}

/** Whether the cells of a file are escaped against formulas: this dashboard has written it. */
export const isEscaped = (columns: readonly string[], service: Service | undefined): boolean =>
  service?.isEscaped === true || columns.some((name) => normalizeName(name) === REPORT_COLUMN);

/**
 * Maps each column: by the service, then by what names mean in general. Columns without a meaning
 * are `unknown`.
 */
export function suggestMapping(columns: readonly string[], service: Service | undefined): Mapping {
  const names = columns.map(normalizeName);
  const targets = names.map((name): ColumnTarget | undefined => {
    const ignored = service?.ignored?.get(name);
    return ignored === undefined ? undefined : { ignored };
  });
  const found = new Set<ImportField>();
  for (const [field, candidates] of [...(service?.names ?? []), ...NAMES]) {
    if (found.has(field)) continue;
    const column = findFree(names, targets, candidates);
    if (column === undefined) continue;
    targets[column] = { field };
    found.add(field);
  }
  return targets.map((target, i) => target ?? { ignored: ignoreReason(names[i] ?? "") });
}

/** Returns the first column without a target that has one of the names, the first name first. */
function findFree(
  names: readonly string[],
  targets: readonly (ColumnTarget | undefined)[],
  candidates: readonly string[],
): number | undefined {
  const columns = candidates.map((name) =>
    names.findIndex((one, i) => one === name && targets[i] === undefined),
  );
  return columns.find((column) => column >= 0);
}

const ignoreReason = (name: string): IgnoredReason =>
  IGNORED.get(name) ?? (NAMES.some(([, names]) => names.includes(name)) ? "taken" : "unknown");

/** The fields that decide whether a link is live. */
const LIVE_FIELDS = ["status", "archived", "disabled"] as const;

export type LiveField = (typeof LIVE_FIELDS)[number];

/** Which of them a column of this name has; undefined if it has none. */
export function liveFieldOf(name: string): LiveField | undefined {
  const normalized = normalizeName(name);
  return LIVE_FIELDS.find((field) =>
    NAMES.some(([named, names]) => named === field && names.includes(normalized)),
  );
}
