/** `shorthop completion`: commands and options for a shell. */
import { Argument, type Command } from "commander";

import type { Terminal } from "./terminal.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

type Shell = (typeof SHELLS)[number];

/** The words that may follow a command, by the words of the command. */
type Words = ReadonlyMap<string, readonly string[]>;

export function addCompletionCommand(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description(
      "Print what a shell needs to complete commands, such as: source <(shorthop completion bash)",
    )
    .addArgument(new Argument("<shell>", "which shell").choices(SHELLS))
    .action((shell: Shell) => terminal.print(PRINTERS[shell](listWords(program))));
}

function listWords(command: Command, path = ""): Map<string, string[]> {
  const options = command.options.flatMap(({ long }) => (long === undefined ? [] : [long]));
  const words = [...command.commands.map((each) => each.name()), ...options, "--help"];
  const below = command.commands.flatMap((each) => [
    ...listWords(each, `${path} ${each.name()}`.trim()),
  ]);
  return new Map([[path, words], ...below]);
}

const casesOf = (words: Words): string =>
  [...words].map(([path, next]) => `    "${path}") next="${next.join(" ")}" ;;`).join("\n");

/** The words before the one that is completed, without options. `path` would be zsh's own. */
const PATH = `  local given="" word next=""
  for word in "\${before[@]}"; do
    case "$word" in -*) ;; *) given="\${given:+$given }$word" ;; esac
  done
  case "$given" in`;

const PRINTERS: Readonly<Record<Shell, (words: Words) => string>> = {
  bash: (words) => `_shorthop() {
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${PATH}
${casesOf(words)}
  esac
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _shorthop shorthop`,
  zsh: (words) => `#compdef shorthop
_shorthop() {
  local -a before=(\${words[2,CURRENT-1]})
${PATH}
${casesOf(words)}
  esac
  compadd -- \${=next}
}
compdef _shorthop shorthop`,
  fish: (words) =>
    [...words]
      .map(([path, next]) => {
        const condition = path === "" ? "__fish_use_subcommand" : seen(path);
        return `complete -c shorthop -f -n '${condition}' -a '${next.join(" ")}'`;
      })
      .join("\n"),
};

const seen = (path: string): string =>
  path
    .split(" ")
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join("; and ");
