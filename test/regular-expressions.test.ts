/**
 * Goal: no input makes a regular expression take more than linear time. Method: scslre, the library
 * behind eslint-plugin-regexp's super-linear rules, checks every expression in the code.
 */
import { expect, test } from "bun:test";
import { join, relative } from "node:path";

import { analyse } from "scslre";
import ts from "typescript";

const ROOT = join(import.meta.dir, "..");

/** Code that processes foreign input; tests and benchmarks read only what they wrote themselves. */
const FOLDERS = ["api", "cli", "redirector", "worker", "shared", "deploy", "clients", "dashboard"];

/** Expressions that are not linear, and why that is harmless: by `file` and source text. */
const EXCEPTIONS: Record<string, string> = {};

/** Expressions built at run time, which cannot be checked, and why that is harmless. */
const DYNAMIC: Record<string, string> = {
  'cli/machines/clicks.ts new RegExp(`^shorthop_redirector_${name}(?:\\\\{[^}]*\\\\})? (\\\\S+)$`, "gm")':
    "the operator's command line reads a redirector's metrics by constant names, one word per line",
  'dashboard/src/languages/errors.ts new RegExp(`^${parts.join("")}$`)':
    "a page reads values out of the API's sentences: constant texts, with two values at most between them",
};

type Found = { location: string; key: string; source: string; flags: string };

const literals: Found[] = [];
const dynamic: string[] = [];

for (const folder of FOLDERS) {
  for await (const path of new Bun.Glob(`${folder}/**/*.{ts,tsx,mjs}`).scan(ROOT)) {
    if (/\.test\.tsx?$|\/dist\//.test(path)) continue;
    collect(path, await Bun.file(join(ROOT, path)).text());
  }
}

function collect(path: string, text: string): void {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const add = (node: ts.Node, source: string, flags: string): void => {
    const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    const location = `${relative(ROOT, join(ROOT, path))}:${line}`;
    literals.push({ location, key: `${path} ${node.getText()}`, source, flags });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/");
      add(node, node.text.slice(1, end), node.text.slice(end + 1));
    }
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && isRegExp(node.expression)) {
      const [source, flags] = node.arguments ?? [];
      if (source !== undefined && ts.isRegularExpressionLiteral(source)) return visit(source);
      if (source !== undefined && ts.isStringLiteralLike(source) && isStatic(flags))
        add(
          node,
          source.text,
          flags !== undefined && ts.isStringLiteralLike(flags) ? flags.text : "",
        );
      else dynamic.push(`${path} ${node.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
}

function isStatic(part: ts.Node | undefined): boolean {
  return part === undefined || ts.isStringLiteralLike(part);
}

function isRegExp(expression: ts.Expression): boolean {
  return ts.isIdentifier(expression) && expression.text === "RegExp";
}

/**
 * Finds what makes the expression super-linear, including moving the start of the match along the
 * input.
 */
function findProblems({ source, flags }: Found): string[] {
  const literal = { source, flags };
  // Assumes a rejecting suffix: an expression that always matches may be part of one that does not.
  const { reports: backtracking } = analyse(literal, {
    reportTypes: { Move: false },
    assumeRejectingSuffix: true,
  });
  const { reports: moving } = analyse(literal, { reportTypes: { Self: false, Trade: false } });
  return [...backtracking, ...moving].map(
    ({ type, exponential, character }) =>
      `${exponential ? "exponential" : "polynomial"} (${type}) in ${JSON.stringify(character.pick)}`,
  );
}

test("the code has regular expressions to check", () => {
  expect(literals.length).toBeGreaterThan(50);
  expect(findProblems({ location: "", key: "", source: "^(?:a+)+$", flags: "" })).not.toEqual([]);
  expect(findProblems({ location: "", key: "", source: "\\s+$", flags: "" })).not.toEqual([]);
});

test("every regular expression is linear, except those with bounded input", () => {
  const broken = literals
    .filter(({ key }) => !(key in EXCEPTIONS))
    .flatMap((literal) =>
      findProblems(literal).map(
        (problem) => `${literal.location} /${literal.source}/${literal.flags}: ${problem}`,
      ),
    );
  expect(broken).toEqual([]);
});

test("every regular expression built at run time is on the list of reviewed ones", () => {
  expect(dynamic.toSorted()).toEqual(Object.keys(DYNAMIC).toSorted());
});

test("every exception on the list is still needed", () => {
  const needed = new Set(
    literals.filter((literal) => findProblems(literal).length > 0).map(({ key }) => key),
  );
  expect(Object.keys(EXCEPTIONS).filter((key) => !needed.has(key))).toEqual([]);
});
