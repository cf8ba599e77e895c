// What a server says when it is ready: lines for a person on a terminal, one line of JSON for a program.

import { paint, writeLine } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'

/** Where a server answers. */
export interface ServerPlaces {
  /** Absent of a server without clients. */
  readonly api?: string
  readonly health: string
  readonly metrics?: string
  readonly inference?: string
  readonly inference_health?: string
}

/** A server that has begun to answer. */
export interface ReadyServer {
  /** What runs, as the subject of a sentence. */
  readonly name: string
  readonly places: ServerPlaces
  /** What only a person asks for: pages and directories, by their names. */
  readonly more: readonly (readonly [name: string, what: string])[]
}

/** The name `event` and those of the places are a promise to programs that start servers. */
export async function showReady(
  { name, places, more }: ReadyServer,
  screen: Output,
): Promise<void> {
  if (!screen.isTty) return writeLine(screen, JSON.stringify({ event: 'ready', ...places }))
  await writeLine(screen, paint(screen, 'bold', `${name} runs. Press Ctrl-C to end it.`))
  const address = places.api === undefined ? [] : [['address', places.api] as const]
  const lines = [...address, ...more, ['health', `${places.health}/readyz`]]
  const width = Math.max(...lines.map(([title = '']) => title.length)) + 2
  for (const [title = '', what = ''] of lines) {
    const shown = paint(screen, 'cyan', what)
    await writeLine(screen, `  ${paint(screen, 'dim', title.padEnd(width))}${shown}`)
  }
}
