import type { Metric } from '../../../embedding/settings.ts'
import type { GraphForm } from '../graph/graph-form.ts'
import type { GraphCodes, QuantizerRange } from '../graph/quantizer.ts'
import type { IntegerMetric } from '../kernels/simd-kernels.ts'

/** By what the rows of lists are compared: normed vectors as integers by their differences, which tell more than products. */
export function integerMetricOf(metric: Metric): IntegerMetric {
  return metric === 'inner_product' ? 'inner_product' : 'l2_squared'
}

/** The form of the rows in lists: small integers, whatever the numbers of the graph are. */
export function listFormOf(metric: Metric): GraphForm {
  return { numbers: 'i8', metric: integerMetricOf(metric), isCentered: true }
}

export function listCodesOf(metric: Metric, range: QuantizerRange): GraphCodes {
  return { form: listFormOf(metric), ...range }
}
