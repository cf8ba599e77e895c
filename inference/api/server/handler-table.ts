// Every operation of the contract and how it is answered; test/contract compares both with the files.

import { chat } from '../handlers/chat.ts'
import { chunk } from '../handlers/chunk.ts'
import { createChatCompletion } from '../handlers/create-chat-completion.ts'
import { createEmbeddings } from '../handlers/create-embeddings.ts'
import { embedPrompt } from '../handlers/embed-prompt.ts'
import { embed } from '../handlers/embed.ts'
import { generate } from '../handlers/generate.ts'
import { getContract } from '../handlers/get-contract.ts'
import { getDocs } from '../handlers/get-docs.ts'
import { getHealth } from '../handlers/get-health.ts'
import { getOpenaiModel } from '../handlers/get-openai-model.ts'
import { getReadiness } from '../handlers/get-readiness.ts'
import { getVersion } from '../handlers/get-version.ts'
import { listLoadedModels } from '../handlers/list-loaded-models.ts'
import { listModels } from '../handlers/list-models.ts'
import { listOpenaiModels } from '../handlers/list-openai-models.ts'
import { listTags } from '../handlers/list-tags.ts'
import { recognize } from '../handlers/recognize.ts'
import { rerank } from '../handlers/rerank.ts'
import { rewrite } from '../handlers/rewrite.ts'
import { showModel } from '../handlers/show-model.ts'
import type { OperationRow, OperationTable } from '../../../door/operation.ts'
import type { ApiContext, Handler } from '../operation.ts'

const HANDLERS = {
  chat,
  chunk,
  createChatCompletion,
  createEmbeddings,
  embed,
  embedPrompt,
  generate,
  getContract,
  getDocs,
  getHealth,
  getOpenaiModel,
  getReadiness,
  getVersion,
  listLoadedModels,
  listModels,
  listOpenaiModels,
  listTags,
  recognize,
  rerank,
  rewrite,
  showModel,
} as const satisfies Readonly<Record<string, Handler>>

const HOT: ReadonlySet<string> = new Set(['embed'])

export const OPERATIONS: OperationTable<ApiContext> = Object.fromEntries(
  Object.entries(HANDLERS).map(([id, handle]): [string, OperationRow<ApiContext>] => [
    id,
    { handle, body: 'json', way: HOT.has(id) ? 'hot' : 'express' },
  ]),
)
