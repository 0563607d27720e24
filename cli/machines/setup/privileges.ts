/**
 * What the roles may do, from the files of the package. What is missing is found out by PostgreSQL:
 * the statements run in a transaction that is rolled back, and what they have changed is missing.
 */
import { readIfExists } from "./files.ts";
import { diffLines } from "./line-diff.ts";
import type { Step } from "./step.ts";
import { succeed, type System } from "./system.ts";

const SHARE = "/usr/share/shorthop/postgres";
const DATABASE = "shorthop";

/** One line for each object with rights: what it is, and who may do what. */
const READ_RIGHTS = `
select rights.line from (
  select 'database ' || datname as line, datacl as acl from pg_database where datname = current_database()
  union all
  select 'schema ' || nspname, nspacl from pg_namespace where nspname = 'public'
  union all
  select 'default ' || defaclrole::regrole::text || ' ' || defaclobjtype::text, defaclacl from pg_default_acl
  union all
  select 'relation ' || relname, relacl from pg_class where relnamespace = 'public'::regnamespace
  union all
  select 'function ' || oid::regprocedure::text, proacl from pg_proc where pronamespace = 'public'::regnamespace
) as objects,
lateral (
  select objects.line || ': ' || coalesce(string_agg(right_of::text, ', ' order by right_of::text), 'as created') as line
    from unnest(acl) as right_of
) as rights
order by 1;`;

const BETWEEN = "---";

/**
 * A step that gives the roles the rights of a file. Where the trial fails, as before what it is
 * about exists, all statements are missing.
 */
export const privilegesStep = (name: string, file: string, system: System): Step => ({
  name,
  async inspect() {
    const statements = readStatements(file, system);
    const trial = `begin;${READ_RIGHTS}\n\\echo ${BETWEEN}\n${statements}\n${READ_RIGHTS}\nrollback;\n`;
    const { code, stdout } = await system.psql(DATABASE, trial);
    const [before = "", after = ""] = stdout.split(`${BETWEEN}\n`);
    const lines = code === 0 ? diffLines(before, after) : statements.trim().split("\n");
    if (lines.length === 0) return [];
    return [
      {
        title: `apply ${file}`,
        lines,
        async apply() {
          succeed("psql", await system.psql(DATABASE, `begin;\n${statements}\ncommit;\n`));
        },
      },
    ];
  },
});

/** The statements of a file, without its transaction and its commands of psql. */
function readStatements(file: string, system: System): string {
  const text = readIfExists(system, `${SHARE}/${file}`);
  if (text === undefined)
    throw new Error(`${SHARE}/${file} is missing: install the package shorthop.`);
  return text
    .split("\n")
    .filter((line) => !/^(?:\\|--|begin;|commit;)/.test(line))
    .join("\n");
}

/** Whether a database exists and has a table. */
export async function hasTable(system: System, table: string): Promise<boolean> {
  const { code, stdout } = await system.psql(
    DATABASE,
    `select to_regclass('public.${table}') is not null;`,
  );
  return code === 0 && stdout.trim() === "t";
}

/** Whether the database exists. */
export async function hasDatabase(system: System): Promise<boolean> {
  return (await system.psql(DATABASE, "select 1;")).code === 0;
}
