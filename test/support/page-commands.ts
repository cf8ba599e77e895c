// The commands of a Markdown text, as a reader copies them out of its shell blocks.

const SHELL_BLOCK = /^```sh\n(?<body>[\s\S]*?)^```$/gm

/** One command; it may have several lines. */
export interface TypedCommand {
  readonly text: string
  /** The comment lines of the block above it, which tell the reader what to do first. */
  readonly comment: string
}

/** In their order. */
export function commandsIn(markdown: string): readonly TypedCommand[] {
  const blocks = [...markdown.matchAll(SHELL_BLOCK)].map(({ groups }) => groups?.['body'] ?? '')
  return blocks.flatMap(commandsOfBlock)
}

function commandsOfBlock(block: string): readonly TypedCommand[] {
  const commands: TypedCommand[] = []
  let open: string[] = []
  let comments: string[] = []
  const add = (): void => {
    commands.push({ text: open.join('\n'), comment: comments.join('\n') })
    open = []
    comments = []
  }
  for (const line of block.split('\n')) {
    if (open.length === 0 && /^\s*(?:#|$)/.test(line)) {
      comments.push(line)
      continue
    }
    open.push(line)
    if (!isOpen(open.join('\n'))) add()
  }
  if (open.length > 0) add()
  return commands
}

/** Whether a quotation mark is open, or the last line continues. */
function isOpen(text: string): boolean {
  const closed = /^(?:[^'"\\#]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|(?<=\S)#|(?<=\s)#.*)*$/
  return !closed.test(text) || text.endsWith('\\')
}
