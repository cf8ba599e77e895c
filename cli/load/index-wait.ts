// Waits until searches find what was loaded, and shows how far the indexes are.

import type { Clock } from '../../lib/clock.ts'
import { fitProgress } from '../render/progress-bar.ts'
import { ProgressLine } from '../render/progress-line.ts'
import { plural } from '../render/quantity.ts'
import { printable } from '../../lib/process/log-words.ts'
import type { Output } from '../process/terminal.ts'
import { tablePath, type ApiClient } from '../service/api-client.ts'
import { memberOf, numberOf, textOf } from '../service/service-answers.ts'
import { CliError } from '../process/exit.ts'

const POLL_MS = 200
/** An index that has taken no document for half a minute waits for something that nobody here can bring. */
const STANDSTILL_MS = 30_000

/** Where a load waits. */
export interface IndexWaitOptions {
  readonly client: ApiClient
  readonly table: string
  readonly clock: Clock
  readonly output: Output
  /** True: draws nothing. */
  readonly isQuiet: boolean
  /** Ctrl-C ends the wait. */
  readonly stop: AbortSignal
}

/** What searches still lack, by index, with its error; empty when they find everything. */
export interface Lacking {
  readonly index: string
  readonly documents: number
  readonly error: string
}

/** Resolves when no document is on its way to an index, when none has moved for STANDSTILL_MS, or at Ctrl-C. */
export async function waitForIndexes(options: IndexWaitOptions): Promise<readonly Lacking[]> {
  const { clock, output, isQuiet, stop } = options
  let lacking = await lackingOf(options)
  let left = sumOf(lacking)
  const all = left
  const text = (): string => fitProgress(output, indexing(all === 0 ? 1 : 1 - left / all))
  const line =
    isQuiet || !output.isTty || left === 0 ? undefined : new ProgressLine(output, clock, text)
  try {
    for (let movedMs = clock.monotonicMs(); left > 0;) {
      if (clock.monotonicMs() - movedMs > STANDSTILL_MS) break
      await clock.sleep(POLL_MS, stop)
      lacking = await lackingOf(options)
      if (sumOf(lacking) < left) movedMs = clock.monotonicMs()
      left = Math.min(left, sumOf(lacking))
      line?.update()
    }
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    await line?.stop()
  }
  return lacking
}

/** One line for each index that lacks documents. */
export function describeLacking(lacking: readonly Lacking[]): readonly string[] {
  return lacking.map(({ index, documents, error }) => {
    const why = error === '' ? '' : `: ${printable(error)}`
    return `searches of index "${printable(index)}" lack ${plural(documents, 'document')} as yet${why}`
  })
}

function indexing(share: number): Parameters<typeof fitProgress>[1] {
  return {
    share,
    figures: [`indexing, ${Math.floor(share * 100)} %`],
    alarm: undefined,
    note: undefined,
  }
}

function sumOf(lacking: readonly Lacking[]): number {
  return lacking.reduce((sum, { documents }) => sum + documents, 0)
}

/** Parked documents and those that are set aside do not come by waiting. */
async function lackingOf({ client, table }: IndexWaitOptions): Promise<readonly Lacking[]> {
  try {
    const path = `${tablePath(table)}/indexes`
    const { text } = await client.request({ method: 'GET', path })
    const indexes: unknown = JSON.parse(text)
    if (!Array.isArray(indexes)) return []
    return indexes.map(lackingIn).filter(({ documents }) => documents > 0)
  } catch (error) {
    if (error instanceof CliError || error instanceof SyntaxError) return []
    throw error
  }
}

function lackingIn(index: unknown): Lacking {
  const status = memberOf(index, 'status')
  const stays =
    numberOf(status, 'documents_set_aside') + numberOf(memberOf(status, 'enrichment'), 'parked')
  return {
    index: textOf(memberOf(index, 'config'), 'name'),
    documents: Math.max(0, numberOf(status, 'documents_behind') - stays),
    error: textOf(status, 'error'),
  }
}
