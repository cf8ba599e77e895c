import { must } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { buildTokenFeeds, floatsOf } from '../runtime/graph-feeds.ts'
import type { PaddingRule, TokenEncoding } from '../runtime/graph-feeds.ts'
import type { GraphSession } from '../runtime/graph-session.ts'

/** What a graph answered for one encoding: `values` of shape `dims`, padding included. */
export interface RowOutput {
  readonly dims: readonly number[]
  readonly values: Float32Array
  /** How many padding tokens stand before the row's first token. */
  readonly leadingPadding: number
}

export interface RowRule extends PaddingRule {
  /** Default: `logits`, or the graph's first output. */
  readonly output?: string
}

/**
 * Runs a graph of token ids over encodings and answers one row of an output for each, in order. A
 * graph with a batch size of its own is run as often as needed.
 */
export async function runRows(
  session: GraphSession,
  encodings: readonly TokenEncoding[],
  padding: RowRule,
  signal: AbortSignal,
): Promise<RowOutput[]> {
  const output = padding.output ?? outputName(session)
  const batchSize = fixedBatchSize(session) ?? encodings.length
  const rows: RowOutput[] = []
  for (let from = 0; from < encodings.length; from += batchSize) {
    signal.throwIfAborted()
    const batch = encodings.slice(from, from + batchSize)
    const filler = batch.at(-1)
    const full =
      filler === undefined
        ? batch
        : [...batch, ...Array.from({ length: batchSize - batch.length }, () => filler)]
    const feeds = buildTokenFeeds(session.inputs, full, padding)
    const answers = await session.run(feeds, [output])
    const { dims } = must(answers[output], output)
    const values = floatsOf(must(answers[output], output))
    if (dims[0] !== full.length) {
      throw new ServiceError(
        'INFERENCE_FAILED',
        `the graph answered ${dims[0]} rows of ${full.length}`,
      )
    }
    rows.push(...cutRows({ dims, values }, batch, padding))
  }
  return rows
}

function cutRows(
  { dims, values }: { dims: readonly number[]; values: Float32Array },
  batch: readonly TokenEncoding[],
  { paddingSide }: PaddingRule,
): RowOutput[] {
  const width = Math.max(...batch.map(({ ids }) => ids.length))
  const rowLength = values.length / (dims[0] ?? 1)
  return batch.map(({ ids }, row) => ({
    dims: dims.slice(1),
    values: values.subarray(row * rowLength, (row + 1) * rowLength),
    leadingPadding: paddingSide === 'left' ? width - ids.length : 0,
  }))
}

export function outputName({ outputs }: GraphSession): string {
  const named = outputs.find(({ name }) => name === 'logits') ?? outputs[0]
  return must(named, 'output of the graph').name
}

/** Some exports are made for one batch size, mostly 1. */
function fixedBatchSize({ inputs }: GraphSession): number | undefined {
  return inputs.find(({ name }) => name === 'input_ids')?.dims[0]
}
