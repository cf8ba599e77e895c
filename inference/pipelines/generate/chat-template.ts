// Renders a conversation by the Jinja template of a model. The template comes with the model's files
// and is not trusted, so its time, its `range` and its output are limited.

import { Environment, Interpreter, Template } from '@huggingface/jinja'
import { ServiceError, isServiceError, messageOf } from '../../../lib/errors.ts'
import { TimeLimit } from '../../text/time-limit.ts'
import { formatDate } from './template-date.ts'

const TEMPLATE_CHARS_MAX = 1024 * 1024
const PROMPT_CHARS_MAX = 16 * 1024 * 1024
const RENDER_MS_MAX = 1000
const RANGE_LENGTH_MAX = 100_000

/** The used parts of @huggingface/jinja. The package's own declarations do not resolve here. */
interface JinjaEnvironment {
  set(name: string, value: unknown): unknown
}
interface JinjaInterpreter {
  run(program: unknown): { readonly value: unknown }
}
const JinjaTemplate: new (source: string) => { readonly parsed: unknown } = Template
const NewEnvironment: new () => JinjaEnvironment = Environment
const NewInterpreter: new (environment: JinjaEnvironment) => JinjaInterpreter = Interpreter

/** One model's template, parsed once. */
export class ChatTemplate {
  readonly #program: unknown
  readonly #limit = new TimeLimit(RENDER_MS_MAX)

  /** Throws INVALID_ARGUMENT for a template that cannot be parsed. */
  constructor(source: string) {
    if (source.length > TEMPLATE_CHARS_MAX) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `the chat template has more than ${TEMPLATE_CHARS_MAX} characters`,
      )
    }
    this.#program = refuseOnError('the chat template cannot be read', () =>
      this.#limit.run('reading the chat template', () => new JinjaTemplate(source).parsed),
    )
  }

  /**
   * The prompt. Throws INVALID_ARGUMENT when the template refuses the conversation, for example
   * because of the order of its roles.
   */
  render(variables: Readonly<Record<string, unknown>>, nowMs: number): string {
    return refuseOnError('messages: the chat template refuses them', () =>
      this.#limit.run('rendering the chat template', () => {
        const environment = buildEnvironment(variables, nowMs)
        const { value } = new NewInterpreter(environment).run(this.#program)
        const prompt = typeof value === 'string' ? value : ''
        if (prompt.length > PROMPT_CHARS_MAX) {
          throw new ServiceError(
            'INVALID_ARGUMENT',
            `messages: the prompt has more than ${PROMPT_CHARS_MAX} characters`,
          )
        }
        return prompt
      }),
    )
  }
}

function buildEnvironment(
  variables: Readonly<Record<string, unknown>>,
  nowMs: number,
): JinjaEnvironment {
  const environment = new NewEnvironment()
  const globals = {
    ...CONSTANTS,
    range: boundedRange,
    raise_exception: (message: unknown) => {
      throw new Error(String(message))
    },
    strftime_now: (format: string) => formatDate(nowMs, format),
    ...variables,
  }
  for (const [name, value] of Object.entries(globals)) environment.set(name, value)
  return environment
}

const CONSTANTS = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
}

function boundedRange(first: number, last?: number, step: number = 1): number[] {
  const [start, stop] = last === undefined ? [0, first] : [first, last]
  const length = Math.max(0, Math.ceil((stop - start) / step))
  if (!(length <= RANGE_LENGTH_MAX)) {
    throw new ServiceError('INVALID_ARGUMENT', `range() is longer than ${RANGE_LENGTH_MAX}`)
  }
  return Array.from({ length }, (_, index) => start + index * step)
}

function refuseOnError<T>(what: string, task: () => T): T {
  try {
    return task()
  } catch (error) {
    if (isServiceError(error)) throw error
    throw new ServiceError('INVALID_ARGUMENT', `${what}: ${messageOf(error)}`, { cause: error })
  }
}
