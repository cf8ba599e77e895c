import type { SamplingSettings } from './sampler.ts'
import type { DrawnToken } from './token-logprobs.ts'

export interface ToolCall {
  readonly name: string
  /** JSON text of an object. */
  readonly arguments: string
}

export interface ChatMessage {
  readonly role: string
  readonly content: string
  readonly toolCalls?: readonly (ToolCall & { readonly id: string })[]
  /** Of a message of role `tool`: the call it answers. */
  readonly toolCallId?: string
}

export interface ChatTool {
  readonly name: string
  readonly description: string | undefined
  /** A JSON schema. */
  readonly parameters: object | undefined
}

export type ToolChoice =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'required' }
  | { readonly kind: 'function'; readonly name: string }

export interface GenerateRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ChatTool[]
  readonly toolChoice: ToolChoice
  readonly maxTokens: number
  readonly stop: readonly string[]
  /** What is absent is the model's own default, else temperature 1, top-p 1, top-k 50, no penalties. */
  readonly sampling: Partial<SamplingSettings>
  /** Tokens whose probabilities are told at each place, beside the drawn one; undefined: not told. */
  readonly topLogprobs: number | undefined
  /** The same request with the same seed gets the same answer. */
  readonly seed: number
  /** For templates that tell the date. */
  readonly nowMs: number
}

export type GenerateEvent =
  | { readonly kind: 'text'; readonly text: string }
  /** As it was drawn, before its text: that may wait, be cut at a stop string, or become a call. */
  | { readonly kind: 'token'; readonly token: DrawnToken }
  /** Numbered from 0. Comes once the call is complete. */
  | { readonly kind: 'tool-call'; readonly index: number; readonly call: ToolCall }

export interface GenerateEnd {
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
  readonly promptTokens: number
  /** Without the token that ended the text. */
  readonly completionTokens: number
}
