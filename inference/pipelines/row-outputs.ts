import { must } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { buildTokenFeeds, fixedShapeOf, floatsOf, rowWidth } from '../runtime/graph-feeds.ts'
import type { PaddingRule, TokenEncoding } from '../runtime/graph-feeds.ts'
import type { GraphSession } from '../runtime/graph-session.ts'
import { planRuns } from './run-plan.ts'

/** A graph's output for one encoding: `values` of shape `dims`, padding included. */
export interface RowOutput {
  readonly dims: readonly number[]
  readonly values: Float32Array
  /** The number of padding tokens before the row's first token. */
  readonly leadingPadding: number
}

/** How rows are padded, and the output to read. */
export interface RowRule extends PaddingRule {
  /** Absent: `logits`, or else the graph's first output. */
  readonly output?: string
  /**
   * True: rows of one run change nothing of each other, not even a last digit, if the graph's own
   * arithmetic keeps them apart. The runtime adds in another order when a run has one row only, or when
   * the number of columns leaves a rest; so a run has two rows at least, and a width without one.
   * Absent: false.
   */
  readonly isAligned?: boolean
}

/** A multiple of the numbers that reductions of the runtime add at once (four today). */
const ALIGNED_WIDTH = 8

/**
 * Runs a graph over encodings and answers one row of an output for each, in order. Rows of nearly one
 * length run together. A graph with a fixed batch size runs as often as needed. A graph with a fixed
 * length gets rows padded to it, and no encoding may be longer.
 */
export async function runRows(
  session: GraphSession,
  encodings: readonly TokenEncoding[],
  padding: RowRule,
  signal: AbortSignal,
): Promise<RowOutput[]> {
  const output = padding.output ?? outputName(session)
  const { widthMin = 1, isAligned = false } = padding
  const step = isAligned ? ALIGNED_WIDTH : 1
  const widthOf = ({ ids }: TokenEncoding): number =>
    Math.ceil(Math.max(widthMin, ids.length) / step) * step
  const shape = {
    lengthOf: widthOf,
    fixed: fixedShapeOf(session.inputs),
    isApart: session.runsRowsApart === true,
  }
  const outputs = new Map<TokenEncoding, RowOutput>()
  for (const { rows, filled: planned } of planRuns(encodings, shape)) {
    signal.throwIfAborted()
    const filled = isAligned && planned.length === 1 ? [...planned, ...planned] : planned
    const runRule = { ...padding, widthMin: Math.max(...filled.map(widthOf)) }
    const feeds = buildTokenFeeds(session.inputs, filled, runRule)
    const answers = await session.run(feeds, [output])
    const { dims } = must(answers[output], output)
    const values = floatsOf(must(answers[output], output))
    if (dims[0] !== filled.length) {
      throw new ServiceError(
        'INFERENCE_FAILED',
        `the graph answered ${dims[0]} rows of ${filled.length}`,
      )
    }
    const width = rowWidth(session.inputs, filled, runRule)
    const cut = cutRows({ dims, values }, rows, { ...padding, width })
    rows.forEach((row, index) => outputs.set(row, must(cut[index], 'a row for each encoding')))
  }
  return encodings.map((encoding) => must(outputs.get(encoding), 'a row for each encoding'))
}

function cutRows(
  { dims, values }: { dims: readonly number[]; values: Float32Array },
  rows: readonly TokenEncoding[],
  { paddingSide, width }: PaddingRule & { readonly width: number },
): RowOutput[] {
  const rowLength = values.length / (dims[0] ?? 1)
  return rows.map(({ ids }, row) => ({
    dims: dims.slice(1),
    values: values.subarray(row * rowLength, (row + 1) * rowLength),
    leadingPadding: paddingSide === 'left' ? width - ids.length : 0,
  }))
}

/** The name of the output `logits`, or else of the graph's first output. */
export function outputName({ outputs }: GraphSession): string {
  const named = outputs.find(({ name }) => name === 'logits') ?? outputs[0]
  return must(named, 'output of the graph').name
}
