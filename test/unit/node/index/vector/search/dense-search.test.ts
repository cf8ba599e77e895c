import { VECTOR_ENGINES } from '../../../../../../node/embedding/settings.ts'
import { whyUnavailable } from '../../../../../../node/index/vector/graph/graph-libraries.ts'
import { describeDenseSearch } from '../../../../../conformance/dense-search.ts'

for (const engine of VECTOR_ENGINES) {
  // The library faiss is built on some machines alone.
  if (whyUnavailable({ engine, quantization: 'f16' }) === undefined) describeDenseSearch(engine)
}
