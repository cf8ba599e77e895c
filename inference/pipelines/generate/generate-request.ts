import type { SamplingSettings } from './sampler.ts'
import type { DrawnToken } from './token-logprobs.ts'

/** A tool call that the model wrote. */
export interface ToolCall {
  readonly name: string
  /** The arguments as the JSON text of an object. */
  readonly arguments: string
}

/** One message of a conversation, as the chat template receives it. */
export interface ChatMessage {
  readonly role: string
  readonly content: string
  readonly toolCalls?: readonly (ToolCall & { readonly id: string })[]
  /** The call that a message of role `tool` answers. */
  readonly toolCallId?: string
}

/** A tool that the model may call. */
export interface ChatTool {
  readonly name: string
  readonly description: string | undefined
  /** The JSON schema of its arguments; undefined: it takes none. */
  readonly parameters: object | undefined
}

/** Whether the model may, must not or must call a tool, or must call this one. */
export type ToolChoice =
  | { readonly kind: 'auto' }
  | { readonly kind: 'none' }
  | { readonly kind: 'required' }
  | { readonly kind: 'function'; readonly name: string }

/** One generation as its worker receives it. It is plain data. */
export interface GenerateRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ChatTool[]
  readonly toolChoice: ToolChoice
  readonly maxTokens: number
  readonly stop: readonly string[]
  /** Absent settings take the model's defaults, else temperature 1, top-p 1, top-k 50, no penalties. */
  readonly sampling: Partial<SamplingSettings>
  /** The number of likeliest tokens reported beside each drawn token; undefined: no `token` events. */
  readonly topLogprobs: number | undefined
  /** Equal requests with equal seeds get equal answers. */
  readonly seed: number
  /** The time for templates that write the date. */
  readonly nowMs: number
}

/** The events of a generation, in order. */
export type GenerateEvent =
  | { readonly kind: 'text'; readonly text: string }
  /** A drawn token. Its text comes later, or not at all at a stop string or in a tool call. */
  | { readonly kind: 'token'; readonly token: DrawnToken }
  /** A complete tool call. Calls are numbered from 0. */
  | { readonly kind: 'tool-call'; readonly index: number; readonly call: ToolCall }

/** The end of a generation, after its last event. */
export interface GenerateEnd {
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
  readonly promptTokens: number
  /** The generated tokens without the end token. */
  readonly completionTokens: number
}
