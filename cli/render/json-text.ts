// Formats JSON for people. It works on the text, so that numbers keep all their digits.
//
// A value that fits into the rest of its line stays on it. A longer value is broken after its opening
// bracket: each member gets a line, and the plain values of an array fill lines.

import { paint } from '../process/terminal.ts'
import { textWidth } from './text-width.ts'

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g
const INDENT = '  '
/** The empty text stands for the end of the tokens. */
const CLOSING = new Set(['}', ']', ''])

interface Screen {
  readonly columns: number
  readonly color: boolean
}

/** A value of the document: a plain value, or an object or array with its values. */
interface Value {
  /** The member's name with its quotes; empty for an element and for the whole document. */
  readonly name: string
  /** The text of a plain value; otherwise empty. */
  readonly text: string
  readonly opening: '' | '{' | '['
  readonly children: readonly Value[]
  /** The columns of the value with its name, if it is on one line. */
  readonly width: number
}

/** The same JSON value, formatted for the screen. The text must be valid JSON. */
export function prettyJson(text: string, screen: Screen): string {
  const tokens = text.match(TOKEN) ?? []
  return layOut(readValue(tokens.values()), 0, screen)
}

function readValue(tokens: Iterator<string>, name = '', first?: string): Value {
  const token = first ?? next(tokens)
  const nameWidth = name === '' ? 0 : textWidth(name) + 2
  if (token !== '{' && token !== '[') {
    const shown = escapeControls(token)
    return { name, text: shown, opening: '', children: [], width: nameWidth + textWidth(shown) }
  }
  const children = [...readChildren(tokens, token)]
  const width = nameWidth + widthAround(token, children)
  return { name, text: '', opening: token, children, width }
}

/** Braces have spaces inside, brackets do not. A comma and a space separate the values. */
function widthAround(opening: '{' | '[', children: readonly Value[]): number {
  if (children.length === 0) return 2
  const inner = children.reduce((sum, { width }) => sum + width, 2 * (children.length - 1))
  return inner + (opening === '{' ? 4 : 2)
}

function* readChildren(tokens: Iterator<string>, opening: '{' | '['): Generator<Value> {
  for (let at = next(tokens); !CLOSING.has(at); at = next(tokens)) {
    if (at === ',') continue
    yield opening === '{' ? readMember(tokens, at) : readValue(tokens, '', at)
  }
}

function readMember(tokens: Iterator<string>, name: string): Value {
  next(tokens) // the colon
  return readValue(tokens, escapeControls(name))
}

function next(tokens: Iterator<string>): string {
  const { done, value } = tokens.next()
  return done === true ? '' : value
}

function layOut(value: Value, depth: number, screen: Screen): string {
  const label = value.name === '' ? '' : `${paint(screen, 'cyan', value.name)}: `
  if (value.opening === '') return label + paintPlain(value.text, screen)
  const closing = value.opening === '{' ? '}' : ']'
  const room = screen.columns - INDENT.length * depth - 1
  if (value.width <= room) return label + onOneLine(value, depth, screen)

  const indent = INDENT.repeat(depth + 1)
  const isPlainList = value.opening === '[' && value.children.every(({ opening }) => opening === '')
  const lines = isPlainList
    ? fillLines(value.children, room - INDENT.length, screen)
    : value.children.map((child) => layOut(child, depth + 1, screen))
  const body = lines.map((line) => indent + line).join(',\n')
  return `${label}${value.opening}\n${body}\n${INDENT.repeat(depth)}${closing}`
}

function onOneLine({ opening, children }: Value, depth: number, screen: Screen): string {
  const body = children.map((child) => layOut(child, depth, { ...screen, columns: Infinity }))
  if (opening === '[') return `[${body.join(', ')}]`
  return body.length === 0 ? '{}' : `{ ${body.join(', ')} }`
}

function fillLines(values: readonly Value[], room: number, screen: Screen): string[] {
  const lines: string[] = []
  let line: string[] = []
  let used = 0
  for (const { text, width } of values) {
    if (line.length > 0 && used + width + 1 > room) {
      lines.push(line.join(', '))
      line = []
      used = 0
    }
    line.push(paintPlain(text, screen))
    used += width + 2
  }
  return line.length === 0 ? lines : [...lines, line.join(', ')]
}

function paintPlain(text: string, screen: Screen): string {
  return paint(screen, text.startsWith('"') ? 'green' : 'yellow', text)
}

/** Escapes the controls of C1, delete, and the marks that reorder text. JSON itself escapes only C0. */
export function escapeControls(token: string): string {
  return token.replaceAll(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
