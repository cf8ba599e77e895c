// What can be asked of each kind of index, so that those who ask and those who pass it on are typed.

import type { Question } from '../host/index-engine.ts'
import type { IndexDescriptor } from './index-descriptor.ts'
import type { INDEX_KINDS, ProductKind } from './index-kinds.ts'

type QuestionsOf<Descriptor> =
  Descriptor extends IndexDescriptor<string, infer Questions> ? Questions : never
type ProductQuestions = {
  readonly [Kind in ProductKind]: QuestionsOf<(typeof INDEX_KINDS)[Kind]>
}

/** By kind and question, the request and its answer: what the descriptors say. */
export interface IndexQuestions extends ProductQuestions {}

export type QueryableKind = keyof IndexQuestions
export type QuestionOf<Kind extends QueryableKind> = Question & keyof IndexQuestions[Kind]

/** A request to an index of a kind: refused by one of another kind. */
export interface IndexRequest<Kind extends QueryableKind, Name extends QuestionOf<Kind>> {
  readonly kind: Kind
  readonly question: Name
  readonly request: IndexQuestions[Kind][Name] extends { readonly request: infer Request }
    ? Request
    : never
}

export type IndexAnswer<
  Kind extends QueryableKind,
  Name extends QuestionOf<Kind>,
> = IndexQuestions[Kind][Name] extends { readonly answer: infer Answer } ? Answer : never
