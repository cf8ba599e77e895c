import { systemClock } from '../../../lib/clock.ts'
import { describeEnrichment } from '../../conformance/enrichment.ts'
import { FakeEnrichment } from '../../support/fakes/fake-enrichment.ts'

describeEnrichment('a fake', async () => {
  const enrichment = new FakeEnrichment({ clock: systemClock })
  const { model } = enrichment
  return {
    enrichment,
    fail: (fault) => {
      model.fault = fault
    },
    asked: () => model.calls.length,
    vectorOf: (text) => model.vectorOf(text),
    close: () => enrichment.close(),
  }
})
