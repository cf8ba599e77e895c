// How each list of an answer of both contracts says that it was cut.

import type { ContractName } from '../../door/contract.ts'

export type Answered =
  /** It has all that there is: by nature, or by a limit on what is accepted or asked for. */
  | 'whole'
  /** A member of an answer that tells. */
  | { readonly flag: string }
  /** An excerpt: the description of the list says of what, and how much it has at most. */
  | { readonly excerpt: RegExp }

const whole = (...lists: readonly string[]) => lists.map((list) => [list, 'whole'] as const)

/** By contract and place (response-lists.ts). */
export const ANSWERED_LISTS: Readonly<Record<ContractName, ReadonlyMap<string, Answered>>> = {
  'store.v1': new Map<string, Answered>([
    ...whole(
      'AggregationBucket.sub_aggregations{}',
      'ClusterShard.replicas',
      'ClusterStatus.shards{}',
      'CountsByTable{}',
      'Index.shard_status{}',
      'IndexStatus.warnings',
      'Leftovers.removed',
      'LoadedSettings.files',
      'MergeResult.deleted_ids',
      'MergeResult.failed',
      'NodeList.nodes',
      'PlanePoints',
      'QueryAnalysis.ids',
      'QueryAnswer.responses',
      'Recovery.reported',
      'Recovery.shards[].in_sync',
      'Recovery.shards[].replicas',
      'QueryHit._highlight{}',
      'QueryHit._index_ranks{}',
      'QueryHit._index_scores{}',
      'QueryHit._sort',
      'QueryResult.aggregations{}',
      'QueryResult.analyses{}',
      'QueryResult.documents_behind{}',
      'QueryResult.profile.phases{}',
      'QueryResult.suggestions',
      'QueryResult.warnings',
      'QuerySuggestion.words',
      'Shards{*}.byte_range',
      'Shards{}',
      'SynonymRule',
      'SynonymRule.from',
      'SynonymRule.to',
      'Table.indexes{}',
      'TableSchema.document_schemas{}',
      'TableSchema.dynamic_templates',
      'TableSchema.stop_words',
      'TableSchema.synonyms',
      'TableStatus.indexes{}',
      'TableStatus.migration.indexes',
      'listIndexes',
      'listTables',
    ),
    ['AggregationResult.buckets', { flag: 'AggregationResult.truncated' }],
    ['ClusterNode.emptying.waiting', { flag: 'ClusterNode.emptying.truncated' }],
    ['ClusterSummary.unreached', { flag: 'ClusterSummary.truncated' }],
    ['ClusterSummary.waiting', { flag: 'ClusterSummary.truncated' }],
    ['DroppedValues.fields{}', { flag: 'DroppedValues.bad_values' }],
    ['DynamicFields.fields', { flag: 'DynamicFields.count' }],
    ['Index.parked_documents', { flag: 'Enrichment.parked' }],
    ['Leftovers.leftovers', { flag: 'Leftovers.leftover_count' }],
    ['Recovery.shards', { flag: 'Recovery.shard_count' }],
    ['Recovery.unknown', { flag: 'Recovery.unknown_count' }],
    ['QueryHit._highlight{*}', { excerpt: /up to three fragments of about 150 characters/ }],
    ['QueryResult.hits.hits', { flag: 'QueryResult.hits.total' }],
    ['QuerySuggestion.words[].options', { excerpt: /At most five/ }],
    ['ShardPage.shards', { flag: 'ShardPage.next_cursor' }],
  ]),
  'inference.v1': new Map<string, Answered>([
    ...whole(
      'ChatAnswer.message.tool_calls',
      'Completion.choices[].logprobs.content',
      'Completion.choices[].logprobs.content[].top_logprobs',
      'Completion.choices[].message.tool_calls',
      'EmbedAnswer.embeddings[]',
      'ModelDetails.families',
      'ModelList.chunkers',
      'ModelList.embedders',
      'ModelList.extractors',
      'ModelList.generators',
      'ModelList.recognizer_info{*}.capabilities',
      'ModelList.recognizer_info{}',
      'ModelList.recognizers',
      'ModelList.rerankers',
      'ModelList.rewriters',
      'OpenaiEmbeddingAnswer.data[].embedding',
      'OpenaiModelList.data',
      'Readiness.loaded',
      'Readiness.loaded[].warnings',
      'Readiness.models{}',
      'Readiness.preload',
      'Readiness.skipped',
      'RecognizeAnswer.entities',
      'RecognizeAnswer.entities[]',
      'RecognizeAnswer.relations',
      'RecognizeAnswer.relations[]',
      'RewriteAnswer.texts[]',
      'ShownModel.capabilities',
      'TagList.models',
      'TokenLogprob.bytes',
    ),
    ['ChunkAnswer.chunks', { flag: 'ChunkAnswer.truncated' }],
    ['Completion.choices', { flag: 'Completion.choices[].finish_reason' }],
    ['EmbedAnswer.embeddings', { flag: 'EmbedAnswer.truncated' }],
    ['OpenaiEmbeddingAnswer.data', { flag: 'OpenaiEmbeddingAnswer.truncated' }],
    ['RerankAnswer.scores', { flag: 'RerankAnswer.truncated' }],
    ['RewriteAnswer.texts', { flag: 'RewriteAnswer.truncated' }],
    ['embedPrompt.embedding', { flag: 'embedPrompt.truncated' }],
  ]),
}

/** All members of answers that say that something was cut. */
export function flagsOf(contract: ContractName): ReadonlySet<string> {
  const lists = ANSWERED_LISTS[contract].values()
  return new Set(
    lists.flatMap((one) => (typeof one === 'object' && 'flag' in one ? [one.flag] : [])),
  )
}
