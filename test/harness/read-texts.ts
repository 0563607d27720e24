/** Finds the texts in sources, and how those of the dashboard use the catalogues. */
import ts from "typescript";

/** A text that is not in a catalogue, and the names of what it is part of, or passed to. */
type Found = { place: string; text: string; within: readonly string[] };

/**
 * A use of a text: its key, or the parts around the variable ones of a key; and the names of its
 * values, if they are listed.
 */
type Use = { place: string; key: string | RegExp; values: readonly string[] | undefined };

/** What the sources of a file have. */
export type Texts = {
  hardCoded: Found[];
  uses: Use[];
  /** String literals, among which are keys that tables have. */
  literals: string[];
  /** Uses outside of functions, whose language could not change. */
  early: string[];
};

/** Attributes and properties whose values people read. */
const TEXT_PROPERTIES: ReadonlySet<string> = new Set([
  "title",
  "label",
  "placeholder",
  "aria-label",
  "alt",
  "hint",
  "intro",
  "action",
  "cancel",
  "done",
  "warning",
  "empty",
  "pickerLabel",
  "copyLabel",
  "successMessage",
  "meaning",
  "detail",
  "head",
]);

/** Attributes that are never texts, though they have words. */
const CODE_PROPERTIES: ReadonlySet<string> = new Set([
  "className",
  "key",
  "queryKey",
  "aria-keyshortcuts",
]);

const TRANSLATORS: ReadonlySet<string> = new Set(["t", "rich", "findText"]);

/** Reads a file. `file` names it in the places. */
export function readTexts(file: string, source: string): Texts {
  const kind = file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, kind);
  const texts: Texts = { hardCoded: [], uses: [], literals: [], early: [] };
  const placeOf = (node: ts.Node): string =>
    `${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
  function visit(node: ts.Node): void {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isCallExpression(node) && isTranslator(node.expression)) {
      texts.uses.push(...usesOf(node, placeOf(node)));
      if (!isInFunction(node)) texts.early.push(placeOf(node));
      for (const value of node.arguments.slice(1)) visit(value);
      return;
    }
    if (ts.isStringLiteralLike(node)) texts.literals.push(node.text);
    const text = textOf(node);
    if (text !== undefined)
      texts.hardCoded.push({ place: placeOf(node), text, within: namesAround(node) });
    ts.forEachChild(node, visit);
  }
  visit(tree);
  return texts;
}

const isTranslator = (callee: ts.Expression): boolean =>
  ts.isIdentifier(callee) && TRANSLATORS.has(callee.text);

function isInFunction(node: ts.Node): boolean {
  for (let at = node.parent; at !== undefined; at = at.parent)
    if (ts.isFunctionLike(at)) return true;
  return false;
}

/** The names of the functions, variables, properties and calls around a node. */
function namesAround(node: ts.Node): string[] {
  const names: string[] = [];
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isCallExpression(at)) names.push(at.expression.getText());
    else if (ts.isFunctionLike(at) || ts.isVariableDeclaration(at) || ts.isPropertyAssignment(at))
      names.push(at.name?.getText() ?? "");
  }
  return names;
}

/** The texts that a call may return: two for a condition. */
function usesOf({ arguments: [key, values] }: ts.CallExpression, place: string): Use[] {
  return key === undefined
    ? []
    : keysOf(key).map((key) => ({ place, key, values: namesOf(values) }));
}

function keysOf(node: ts.Expression): (string | RegExp)[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isConditionalExpression(node))
    return [...keysOf(node.whenTrue), ...keysOf(node.whenFalse)];
  if (!ts.isTemplateExpression(node)) return [];
  const parts = [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)];
  return [new RegExp(`^${parts.map(RegExp.escape).join("[\\w.-]+")}$`)];
}

/** The names of the properties; undefined if some of them are not listed. */
function namesOf(values: ts.Expression | undefined): string[] | undefined {
  if (values === undefined) return [];
  if (!ts.isObjectLiteralExpression(values)) return undefined;
  if (values.properties.some(ts.isSpreadAssignment)) return undefined;
  return values.properties.map(({ name }) => name?.getText() ?? "");
}

/** The text of a node that people read; undefined for every other node. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isJsxText(node)) return hasLetters(node.text) ? node.text.trim() : undefined;
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return undefined;
  const text = literalOf(node);
  if (!hasLetters(text) || isCode(node)) return undefined;
  return isInTextProperty(node) || looksLikeText(text) ? text : undefined;
}

const literalOf = (node: ts.StringLiteralLike | ts.TemplateExpression): string =>
  ts.isTemplateExpression(node)
    ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("…")
    : node.text;

const hasLetters = (text: string): boolean => /\p{L}/u.test(text);

/** Several words, or one that begins with a capital, as in `Save`. */
const looksLikeText = (text: string): boolean =>
  /\p{L}[\p{Po}…]?\s+(?:…\s*)?\p{L}/u.test(text) || /^\p{Lu}\p{Ll}/u.test(text.trim());

/**
 * Whether a literal is of code: compared, a name, part of a type, or of an error that only logs
 * show.
 */
function isCode(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind !== ts.SyntaxKind.PlusToken) {
    return parent.operatorToken.getText().endsWith("==");
  }
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ts.isElementAccessExpression(parent) || ts.isCaseClause(parent)) return true;
  if (ts.isNewExpression(parent) && parent.expression.getText().endsWith("Error")) return true;
  const name = propertyOf(node);
  return name !== undefined && CODE_PROPERTIES.has(name);
}

const isInTextProperty = (node: ts.Node): boolean => TEXT_PROPERTIES.has(propertyOf(node) ?? "");

/**
 * The name of the attribute or property whose value a literal is, also as a branch of a condition.
 */
function propertyOf(node: ts.Node): string | undefined {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isJsxAttribute(at) || ts.isPropertyAssignment(at)) return at.name.getText();
    const isPassed =
      ts.isJsxExpression(at) ||
      ts.isConditionalExpression(at) ||
      ts.isTemplateSpan(at) ||
      ts.isTemplateExpression(at) ||
      ts.isParenthesizedExpression(at) ||
      ts.isBinaryExpression(at) ||
      ts.isArrayLiteralExpression(at);
    if (!isPassed) return undefined;
  }
  return undefined;
}
