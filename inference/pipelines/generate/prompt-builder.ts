import { ServiceError } from '../../../lib/errors.ts'
import { isJsonRecord } from '../../../lib/json-record.ts'
import type { GeneratorSpec } from '../../models/model-spec.ts'
import { TextGuard } from '../../text/guarded-text.ts'
import type { GuardedText } from '../../text/guarded-text.ts'
import { ChatTemplate } from './chat-template.ts'
import type { ChatMessage, ChatTool, GenerateRequest } from './generate-request.ts'
import { TOOL_CALL_SYNTAX, detectToolCallFormat } from './tool-call-format.ts'
import type { ToolCallSyntax } from './tool-call-format.ts'

/** A rendered conversation. */
export interface Prompt extends GuardedText {
  /** Text that is appended to the prompt and that begins the answer. */
  readonly answerBeginning: string
  /** The syntax of tool calls; undefined: the answer is not searched for calls. */
  readonly toolCallSyntax: ToolCallSyntax | undefined
}

/** Writes conversations in the form that the model was trained on. */
export class PromptBuilder {
  readonly #guard: TextGuard
  readonly #template: ChatTemplate | undefined
  readonly #syntax: ToolCallSyntax | undefined
  readonly #specialTokens: GeneratorSpec['specialTokens']

  constructor(spec: GeneratorSpec, specialTexts: readonly string[] = []) {
    const { chatTemplate } = spec
    this.#guard = new TextGuard(specialTexts)
    this.#template = chatTemplate === undefined ? undefined : new ChatTemplate(chatTemplate)
    this.#specialTokens = spec.specialTokens
    const format = spec.toolCallFormat ?? detectToolCallFormat(chatTemplate ?? '')
    this.#syntax = format === undefined ? undefined : TOOL_CALL_SYNTAX[format]
  }

  /** The special tokens of tool calls, which decoding must keep. */
  get toolCallMarks(): readonly string[] {
    return this.#syntax?.marks ?? []
  }

  /** Throws INVALID_ARGUMENT for tools that the model does not support or the choice does not find. */
  build(request: GenerateRequest): Prompt {
    const tools = chosenTools(request)
    const syntax = tools.length === 0 ? undefined : this.#syntax
    if (tools.length > 0 && syntax === undefined) {
      throw new ServiceError('INVALID_ARGUMENT', NO_TOOLS)
    }
    return {
      ...this.#render(request, tools),
      answerBeginning: syntax === undefined ? '' : forcedBeginning(request, syntax),
      toolCallSyntax: syntax,
    }
  }

  /**
   * With a template, only the template writes special tokens. Without one, the clients write them.
   */
  #render({ messages, nowMs }: GenerateRequest, tools: readonly ChatTool[]): GuardedText {
    if (this.#template === undefined) {
      const contents = messages.map(({ content }) => content)
      return { text: this.#specialTokens.bos_token + contents.join('\n'), unmatchedAt: new Set() }
    }
    const variables = {
      ...this.#specialTokens,
      messages: messages.map((message) =>
        messageVariables({ ...message, content: this.#guard.mark(message.content) }),
      ),
      add_generation_prompt: true,
      ...(tools.length === 0 ? {} : { tools: tools.map(toolVariables) }),
    }
    return this.#guard.unmark(this.#template.render(variables, nowMs))
  }
}

const NO_TOOLS =
  'tools: the model does not support tool calling; leave them out, or use a model that does'

function chosenTools({ tools, toolChoice }: GenerateRequest): readonly ChatTool[] {
  if (toolChoice.kind === 'none') return []
  if (toolChoice.kind === 'auto') return tools
  const chosen =
    toolChoice.kind === 'function' ? tools.filter(({ name }) => name === toolChoice.name) : tools
  if (chosen.length > 0) return chosen
  const missing = toolChoice.kind === 'function' ? `the function ${toolChoice.name}` : 'any tool'
  throw new ServiceError('INVALID_ARGUMENT', `tool_choice: tools do not have ${missing}`)
}

function forcedBeginning({ toolChoice }: GenerateRequest, syntax: ToolCallSyntax): string {
  if (toolChoice.kind === 'required') return syntax.beginning(undefined)
  return toolChoice.kind === 'function' ? syntax.beginning(toolChoice.name) : ''
}

function messageVariables({ role, content, toolCalls, toolCallId }: ChatMessage): object {
  return {
    role,
    content,
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(toolCalls === undefined
      ? {}
      : {
          tool_calls: toolCalls.map(({ id, name, arguments: given }) => ({
            id,
            type: 'function',
            function: { name, arguments: argumentsVariable(given) },
          })),
        }),
  }
}

/** Templates expect the arguments as an object and format it themselves. */
function argumentsVariable(given: string): unknown {
  try {
    const parsed: unknown = JSON.parse(given)
    return isJsonRecord(parsed) ? parsed : given
  } catch {
    return given
  }
}

function toolVariables({ name, description, parameters }: ChatTool): object {
  return {
    type: 'function',
    function: { name, description: description ?? '', parameters: parameters ?? {} },
  }
}
