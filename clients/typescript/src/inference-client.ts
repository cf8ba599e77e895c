// A client of the inference server's own API: one method for each operationId of
// openapi/inference.v1.yaml. The clients of OpenAI and Ollama serve the other operations.
//
// Every method rejects with a QuarryError (see errors.ts), or with the reason of the caller's signal.
// No operation changes the server, so every call may be retried.

import type {
  ChunkAnswer,
  ChunkRequest,
  Completion,
  EmbedRequest,
  GenerateRequest,
  ModelList,
  Readiness,
  RecognizeAnswer,
  RecognizeRequest,
  RerankAnswer,
  RerankRequest,
  RewriteAnswer,
  RewriteRequest,
  Version,
} from './contract/inference.v1.ts'
import { ServiceError } from './errors.ts'
import { HttpTransport } from './http-transport.ts'
import type { Call, CallOptions, ClientOptions, Json } from './http-transport.ts'
import { vectorsOf } from './vector-answer.ts'

/** The next piece of a completion. */
export interface CompletionPiece {
  readonly id: string
  readonly object: 'chat.completion.chunk'
  readonly created: number
  readonly model: string
  /** One choice; empty in the piece with the usage. */
  readonly choices: readonly CompletionPieceChoice[]
  /** In the last piece, if `stream_options` requested it. */
  readonly usage?: Completion['usage'] | null
}

/** The new part of a completion's only choice. */
export interface CompletionPieceChoice {
  readonly index: number
  readonly delta: CompletionDelta
  /** Null until the last piece. */
  readonly finish_reason: Completion['choices'][number]['finish_reason'] | null
  readonly logprobs: Completion['choices'][number]['logprobs']
}

/** The members that this piece adds to the message. */
export interface CompletionDelta {
  readonly role?: 'assistant'
  readonly content?: string
  readonly tool_calls?: readonly ToolCallDelta[]
}

/** A part of a tool call. The first part has the id and the name, later parts add arguments. */
export interface ToolCallDelta {
  readonly index: number
  readonly id?: string
  readonly type?: 'function'
  readonly function: { readonly name?: string; readonly arguments: string }
}

/** A client of one inference server. It holds no connection open that must be closed. */
export class InferenceClient {
  readonly #transport: HttpTransport

  constructor(options: ClientOptions) {
    this.#transport = new HttpTransport(options)
  }

  /** Resolves while the server's process runs. */
  getHealth(options?: CallOptions): Promise<{ readonly status: 'ok' }> {
    return this.#get('/healthz', options)
  }

  /** The readiness. It also resolves for a server that is not ready, whose answer has the reasons. */
  async getReadiness(options?: CallOptions): Promise<Readiness> {
    try {
      return await this.#get('/readyz', options)
    } catch (error) {
      const isAnswer = error instanceof ServiceError && error.code === 'HTTP_503'
      if (!isAnswer) throw error
      const body: Json = error.body
      return body
    }
  }

  /** The contract in YAML. */
  async getContract(options?: CallOptions): Promise<string> {
    const path = '/api/openapi.yaml'
    const call: Call = { method: 'GET', path, accept: 'application/yaml', options }
    return (await this.#transport.exchange(call)).text
  }

  /** The version of the server. */
  getVersion(options?: CallOptions): Promise<Version> {
    return this.#get('/api/version', options)
  }

  /** The names of all models by their kind. */
  listModels(options?: CallOptions): Promise<ModelList> {
    return this.#get('/api/models', options)
  }

  /** One vector for each input, in order. The server sends them in binary. */
  async embed(request: EmbedRequest, options?: CallOptions): Promise<readonly Float32Array[]> {
    const call = { ...post('/api/embed', request, options), accept: 'application/octet-stream' }
    return vectorsOf(await this.#transport.bytes(call))
  }

  /** Cuts a text into chunks. */
  chunk(request: ChunkRequest, options?: CallOptions): Promise<ChunkAnswer> {
    return this.#transport.json(post('/api/chunk', request, options))
  }

  /** Scores documents against a query, in the order of the documents. */
  rerank(request: RerankRequest, options?: CallOptions): Promise<RerankAnswer> {
    return this.#transport.json(post('/api/rerank', request, options))
  }

  /** The whole completion. `generatePieces` yields it while the model generates. */
  generate(
    request: Omit<GenerateRequest, 'stream' | 'stream_options'>,
    options?: CallOptions,
  ): Promise<Completion> {
    return this.#transport.json(post('/api/generate', request, options))
  }

  /** The pieces of a completion. Leaving the loop stops the model. The loop throws if the model fails. */
  async *generatePieces(
    request: Omit<GenerateRequest, 'stream'>,
    options?: CallOptions,
  ): AsyncGenerator<CompletionPiece> {
    const call = post('/api/generate', { ...request, stream: true }, options)
    yield* this.#transport.events({ ...call, accept: 'text/event-stream' })
  }

  /** The entities and relations of each text, in order. */
  recognize(request: RecognizeRequest, options?: CallOptions): Promise<RecognizeAnswer> {
    return this.#transport.json(post('/api/recognize', request, options))
  }

  /** The rewritten texts of each input, in order. */
  rewrite(request: RewriteRequest, options?: CallOptions): Promise<RewriteAnswer> {
    return this.#transport.json(post('/api/rewrite', request, options))
  }

  #get(path: string, options: CallOptions | undefined): Promise<Json> {
    return this.#transport.json({ method: 'GET', path, options })
  }
}

function post(path: string, json: object, options: CallOptions | undefined): Call {
  return { method: 'POST', path, json, repeatable: 'always', options }
}
