// A scan at another node. When that node goes away, or leads no more, the scan continues at the next leader
// behind its last row. A timestamp shows the same rows at every leader: a leader gives only stamps above
// those that it has observed, and above those of the leaders before it.

import { keyAfter } from '../command/key-range.ts'
import type { ScanOptions, ScanRow, ShardScanOptions } from '../shard.ts'
import type { AnswerStream } from './answer-stream.ts'
import { OPERATIONS, writeRange, writeScan } from './shard-calls.ts'
import type { ShardAsker } from './shard-asker.ts'
import { isLeaderLost } from './shard-caller.ts'
import { readRows } from './wire/rows-codec.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** New streams one after the other without a row. */
const FRUITLESS_MAX = 8

/** Resolves when the leader has its view. */
export async function remoteScan(
  asker: ShardAsker,
  { range, at, signal, onMoment }: ShardScanOptions,
): Promise<AsyncIterable<ScanRow[]>> {
  if (at === undefined) return scanNow(asker, { range, signal, onMoment })
  const options = { range, at, signal }
  return pagesOf(asker, options, await openScan(asker, options))
}

/** The leader takes the timestamp, and tells it for scans of the rest. */
async function scanNow(
  asker: ShardAsker,
  { range, signal, onMoment }: Omit<ShardScanOptions, 'at'>,
): Promise<AsyncIterable<ScanRow[]>> {
  const argument = new WireWriter()
  writeRange(argument, range)
  const stream = await asker.openStream({ operation: OPERATIONS.scanNow, argument, signal })
  const at = stream.reading(() => stream.head.timestamp())
  onMoment?.(at)
  return pagesOf(asker, { range, at, signal }, stream)
}

async function* pagesOf(
  asker: ShardAsker,
  options: ScanOptions,
  first: AnswerStream,
): AsyncGenerator<ScanRow[], void> {
  const { range, signal } = options
  const progress: Progress = { start: range.start, fruitless: 0 }
  for (let stream = first; ;) {
    try {
      yield* pagesOfStream(stream, progress)
      return
    } catch (error) {
      signal.throwIfAborted()
      progress.fruitless += 1
      if (!isLeaderLost(error) || progress.fruitless > FRUITLESS_MAX) throw error
    }
    const rest = { start: progress.start, end: range.end }
    stream = await openScan(asker, { ...options, range: rest })
  }
}

/** How far a scan has come. */
interface Progress {
  /** The first key behind the last row. */
  start: Buffer
  /** Streams that ended early since that row. */
  fruitless: number
}

async function* pagesOfStream(
  stream: AnswerStream,
  progress: Progress,
): AsyncGenerator<ScanRow[], void> {
  for await (const part of stream) {
    const rows = stream.reading(() => readRows(part))
    const last = rows.at(-1)
    if (last === undefined) continue
    progress.start = keyAfter(last.key)
    progress.fruitless = 0
    yield rows
  }
}

/** The deadline is that of the head: the pages come as fast as their reader takes them. */
function openScan(asker: ShardAsker, { range, at, signal }: ScanOptions): Promise<AnswerStream> {
  const argument = new WireWriter()
  writeScan(argument, { range, at })
  return asker.openStream({ operation: OPERATIONS.scan, argument, signal })
}
