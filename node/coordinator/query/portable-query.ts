// Replaces exact numbers by doubles, because a query goes to an index worker by structured clone, and a
// clone refuses the objects that hold more digits than a double. Indexes hold doubles, so the query
// finds the same documents.

import type { AggregationRequest, Aggregations } from '../../query/request/aggregation-request.ts'
import type { Query } from '../../query/query-tree.ts'

export function portableQuery(query: Query | undefined): Query | undefined {
  return query === undefined ? undefined : withDoubles(query)
}

export function portableAggregations(aggregations: Aggregations): Aggregations {
  return new Map([...aggregations].map(([name, request]) => [name, portable(request)]))
}

function portable(request: AggregationRequest): AggregationRequest {
  if (request.kind === 'metric') return request
  const sub = portableAggregations(request.sub)
  if (request.kind !== 'significant-terms') return { ...request, sub }
  return { ...request, sub, background: portableQuery(request.background) }
}

function withDoubles(query: Query): Query {
  if (query.kind === 'numbers') {
    const { exact: _, ...doubles } = query
    return doubles
  }
  if (query.kind !== 'boolean') return query
  return {
    ...query,
    must: query.must.map(withDoubles),
    should: query.should.map(withDoubles),
    mustNot: query.mustNot.map(withDoubles),
    filter: query.filter.map(withDoubles),
  }
}
