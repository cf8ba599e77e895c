import { FAISS, hasFaiss } from '../../../../../../node/index/vector/graph/faiss-graph.ts'
import { USEARCH } from '../../../../../../node/index/vector/graph/usearch-graph.ts'
import { describeGraphLibrary } from '../../../../../conformance/graph-library.ts'

describeGraphLibrary('usearch', USEARCH)
// It is built on some machines alone.
if (hasFaiss()) describeGraphLibrary('faiss', FAISS)
