// The commands of a Markdown text, as a reader copies them out of its shell blocks.

const SHELL_BLOCK = /^```sh\n(?<body>[\s\S]*?)^```$/gm

/** In their order; a command may have several lines. */
export function commandsIn(markdown: string): readonly string[] {
  const blocks = [...markdown.matchAll(SHELL_BLOCK)].map(({ groups }) => groups?.['body'] ?? '')
  return blocks.flatMap(commandsOfBlock)
}

function commandsOfBlock(block: string): readonly string[] {
  const commands: string[] = []
  let open: string[] = []
  for (const line of block.split('\n')) {
    if (open.length === 0 && /^\s*(?:#|$)/.test(line)) continue
    open.push(line)
    if (isOpen(open.join('\n'))) continue
    commands.push(open.join('\n'))
    open = []
  }
  return [...commands, ...(open.length === 0 ? [] : [open.join('\n')])]
}

/** Whether a quotation mark is open, or the last line continues. */
function isOpen(text: string): boolean {
  const closed = /^(?:[^'"\\#]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|(?<=\S)#|(?<=\s)#.*)*$/
  return !closed.test(text) || text.endsWith('\\')
}
