import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { bulkUploads } from './bulk-uploads.ts'
import { smallCalls } from './small-calls.ts'

export const peerSuite: SuiteEntry = {
  packages: [],
  rowNames: ['calls', 'bulk'],
  takesDocuments: false,
  build: buildPeerSuite,
}

function buildPeerSuite(bench: Bench): Suite {
  return {
    rows: {
      calls: () => smallCalls(bench),
      bulk: () => bulkUploads(bench),
    },
    [Symbol.asyncDispose]: async () => undefined,
  }
}
