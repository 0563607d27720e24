/**
 * Names of columns in German, French and Spanish, without accents, by field and by what is not
 * imported.
 */
import type { IgnoredReason, ImportField } from "./fields.ts";

const toList = (text: string): readonly string[] => text.split(" ");

export const FOREIGN_NAMES: readonly (readonly [ImportField, readonly string[]])[] = [
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
  // What an only column of links is called: the others are better, where there are any.
  ["url", toList("adresse lien enlace")],
];

export const FOREIGN_IGNORED: readonly (readonly [IgnoredReason, readonly string[]])[] = [
  ["clicks", toList("klicks aufrufe clics visites visitas")],
  [
    "created",
    toList(
      "erstellt erstelltam angelegt angelegtam erstellungsdatum cree creele datedecreation creado creadoel fechadecreacion geandertam",
    ),
  ],
  ["author", toList("ersteller autor erstelltvon auteur creepar creadopor")],
];
