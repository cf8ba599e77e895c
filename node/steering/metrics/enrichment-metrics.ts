import { counter, familyLines, gauge } from '../../../lib/metrics.ts'
import type { EnrichmentCounts } from '../../enrichment/enrichers.ts'

/** The metrics of vectors that this node makes for the shards that it leads. */
export function enrichmentMetrics(counts: EnrichmentCounts): readonly string[] {
  const { enriched, pending, parked, failing, bytes } = counts
  return [
    counter('quarry_enrichment_documents_total', 'Documents that got their vectors.', enriched),
    gauge('quarry_enrichment_pending', 'Documents that wait for vectors.', pending),
    gauge('quarry_enrichment_parked', 'Documents for which no vectors could be made.', parked),
    gauge(
      'quarry_enrichment_failing',
      'Indexes of led shards that get no vectors at the moment.',
      failing,
    ),
    gauge('quarry_enrichment_bytes', 'Bytes of documents on their way to models.', bytes),
  ].flatMap(familyLines)
}
