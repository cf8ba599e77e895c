// In which form a graph gets vectors. Forms are tried in the order of their list, from the coarsest on, until the numbers of
// one tell the near vectors of a segment from the others (code-check.ts).
//
//   cosine          vectors of length 1; their distances order as the angles do, by either metric
//   l2_squared      distances order the same wherever the origin is, and whatever the unit is
//   inner_product   the order of rows by their product with a query stays when all rows move together; the query does not move

import type { DenseIndexSettings, Metric, Quantization } from '../../../embedding/settings.ts'
import type { GraphMetric, GraphShape } from './vector-graph.ts'

/** How the vectors of one graph are kept and compared. */
export interface GraphForm {
  readonly numbers: Quantization
  readonly metric: GraphMetric
  /** Whether the mean of the rows is taken off each of them. */
  readonly isCentered: boolean
}

/** In segments on disk a form is its place here: new ones go behind the last. */
export const GRAPH_FORMS = [
  { numbers: 'f32', metric: 'l2_squared', isCentered: true },
  { numbers: 'f16', metric: 'l2_squared', isCentered: true },
  { numbers: 'i8', metric: 'l2_squared', isCentered: true },
  { numbers: 'binary', metric: 'hamming', isCentered: true },
  { numbers: 'f32', metric: 'inner_product', isCentered: false },
  { numbers: 'f16', metric: 'inner_product', isCentered: false },
  { numbers: 'i8', metric: 'inner_product', isCentered: false },
  { numbers: 'f32', metric: 'inner_product', isCentered: true },
  { numbers: 'f16', metric: 'inner_product', isCentered: true },
  { numbers: 'i8', metric: 'inner_product', isCentered: true },
] as const satisfies readonly GraphForm[]

/** From the coarsest numbers to the finest. */
const FINER: readonly Quantization[] = ['binary', 'i8', 'f16', 'f32']

/** Small integers have a common step: differences of normed vectors then tell more than their products. */
const COMPARED: Readonly<
  Record<Metric, Readonly<Record<Quantization, readonly Omit<GraphForm, 'numbers'>[]>>>
> = (() => {
  const distances = [{ metric: 'l2_squared', isCentered: true }] as const
  const products = [false, true].map((isCentered) => {
    return { metric: 'inner_product', isCentered } as const
  })
  const bits = [{ metric: 'hamming', isCentered: true }] as const
  const normed = [{ metric: 'inner_product', isCentered: false }, ...distances] as const
  return {
    l2_squared: { f32: distances, f16: distances, i8: distances, binary: bits },
    inner_product: { f32: products, f16: products, i8: products, binary: bits },
    cosine: { f32: normed, f16: normed, i8: distances, binary: bits },
  }
})()

/** The forms that a graph with these settings may have: at first the one that is wanted, and then finer ones. */
export function formsOf({
  metric,
  quantization,
}: Pick<DenseIndexSettings, 'metric' | 'quantization'>): readonly GraphForm[] {
  const finer = FINER.slice(FINER.indexOf(quantization))
  return finer.flatMap((numbers) => {
    return COMPARED[metric][numbers].map((compared) => ({ numbers, ...compared }))
  })
}

export function graphShapeOf(dimension: number, { numbers, metric }: GraphForm): GraphShape {
  return { dimension, metric, quantization: numbers }
}

/** The place of a form among all. */
export function numberOfForm({ numbers, metric, isCentered }: GraphForm): number {
  return GRAPH_FORMS.findIndex((form) => {
    return form.numbers === numbers && form.metric === metric && form.isCentered === isCentered
  })
}
