// The terminal as a dependency. Commands write only here, so that tests can read their output.

import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

/**
 * An output stream and the properties of its screen. `columns` may change while the program runs.
 */
export interface Output {
  readonly stream: Writable
  readonly isTty: boolean
  readonly color: boolean
  readonly columns: number
}

/** The standard streams of the process. */
export interface Terminal {
  readonly stdin: Readable
  readonly stdinIsTty: boolean
  readonly out: Output
  readonly err: Output
}

/** Writes with back-pressure: resolves when the stream can take more. */
export async function write(output: Output, text: string | Uint8Array): Promise<void> {
  if (!output.stream.write(text)) await once(output.stream, 'drain')
}

export async function writeLine(output: Output, line = ''): Promise<void> {
  await write(output, `${line}\n`)
}

/** The column at which text is cut: the edge of a terminal; Infinity for pipes and files. */
export function edgeOf({ isTty, columns }: Pick<Output, 'isTty' | 'columns'>): number {
  return isTty ? columns : Infinity
}

/** Codes of Select Graphic Rendition (ECMA-48, 8.3.117). */
const SGR = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 }
export type Style = keyof typeof SGR

/** The text in a style, or unchanged when this output has no colours. */
export function paint(output: { readonly color: boolean }, style: Style, text: string): string {
  return output.color && text.length > 0 ? `\u001b[${SGR[style]}m${text}\u001b[0m` : text
}
