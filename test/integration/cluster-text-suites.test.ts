// The suites of text indexes of a single process, against three real nodes: each request goes to the next node.

import { ThreeNodes } from '../support/places/three-nodes.ts'
import { describeTextDifferential } from '../suites/text-differential.ts'
import { describeTextFields } from '../suites/text-fields.ts'
import { describeTextIndex } from '../suites/text-index.ts'
import { describeTextSettings } from '../suites/text-settings.ts'

describe('a cluster', function () {
  this.timeout(300_000)
  const nodes = new ThreeNodes()
  after(() => nodes[Symbol.asyncDispose]())

  describeTextDifferential(nodes)
  describeTextFields(nodes)
  describeTextIndex(nodes)
  describeTextSettings(nodes)
})
