// The models of a cluster: an inference server beside each node, or one elsewhere.

import { Type } from 'typebox'
import { choice, flag, integer, keyed, object, optional, quantity, text } from '../schema/fields.ts'
import type { Rule } from '../schema/fields.ts'
import { resources } from '../core/containers.ts'
import { objectName } from '../core/names.ts'
import { openOptions } from './open-options.ts'
import { OWNED_INFERENCE_OPTIONS } from './owned-names.ts'

const MODELS_MAX = 32
const MODEL_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$'
const URL_LENGTH_MAX = 512
const PRELOAD_TIMEOUT_MAX_SECONDS = 86_400

const INFERENCE_RULES: readonly Rule[] = [
  {
    rule: '!self.enabled || !has(self.externalURL)',
    message:
      'spec.inference.externalURL can be set only when spec.inference.enabled is false: nodes ask one server',
  },
  {
    rule: '!has(self.models) || size(self.models) == 0 || has(self.modelVolume)',
    message:
      'spec.inference.modelVolume must say where models are kept when spec.inference.models has some: GeneratedClaim keeps them, EmptyDir downloads them again for each new pod',
  },
]

const MODEL_VOLUME_RULES: readonly Rule[] = [
  {
    rule: "self.type != 'ExistingClaim' || has(self.claimName)",
    message:
      'spec.inference.modelVolume.claimName must be set when spec.inference.modelVolume.type is ExistingClaim',
  },
  {
    rule: "self.type == 'ExistingClaim' || !has(self.claimName)",
    message:
      'spec.inference.modelVolume.claimName can be set only when spec.inference.modelVolume.type is ExistingClaim',
  },
  {
    rule: "self.type != 'GeneratedClaim' || has(self.size)",
    message:
      'spec.inference.modelVolume.size must be set when spec.inference.modelVolume.type is GeneratedClaim',
  },
  {
    rule: "self.type == 'GeneratedClaim' || !has(self.storageClassName)",
    message:
      'spec.inference.modelVolume.storageClassName can be set only when spec.inference.modelVolume.type is GeneratedClaim',
  },
]

const model = object('One model.', {
  name: text('The name of the model on its hub: OWNER/NAME.', {
    max: 193,
    min: 3,
    pattern: MODEL_NAME,
  }),
  kind: optional(
    choice(
      ['Embedder', 'Chunker', 'Reranker', 'Generator', 'Recognizer', 'Rewriter'],
      'What the model does; absent: what its files say.',
    ),
  ),
  variant: optional(
    text('The number format of its weights, such as i8; absent: the most exact one.', {
      max: 64,
      min: 1,
      pattern: '^[A-Za-z0-9._-]+$',
    }),
  ),
  revision: optional(
    text('A branch, tag or commit on the hub; absent: main.', {
      max: 200,
      min: 1,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]*$',
    }),
  ),
  source: optional(
    text('The URL of the hub; absent: the public one.', {
      max: URL_LENGTH_MAX,
      min: 1,
      pattern: String.raw`^https?://\S+$`,
    }),
  ),
  preload: flag('Whether the model is loaded at the start and stays loaded.', false),
})

const modelVolume = object(
  'Where models are kept.',
  {
    type: choice(
      ['EmptyDir', 'ExistingClaim', 'GeneratedClaim'],
      'A directory that ends with the pod, a claim that exists and that all pods share, or a claim for each pod.',
    ),
    claimName: optional(objectName('The name of the claim, for ExistingClaim.')),
    size: optional(
      quantity('How large the volume is: a claim for GeneratedClaim, a limit for EmptyDir.'),
    ),
    storageClassName: optional(objectName('The StorageClass of the claims, for GeneratedClaim.')),
  },
  { rules: MODEL_VOLUME_RULES },
)

export const inference = object(
  'The models that make vectors and texts: an inference server beside each node, or one elsewhere.',
  {
    enabled: flag('Whether an inference server runs beside each node.', true),
    externalURL: optional(
      text('The inference server that nodes ask, instead of one beside them.', {
        max: URL_LENGTH_MAX,
        min: 1,
        pattern: String.raw`^https?://\S+$`,
      }),
    ),
    image: optional(
      text('The image of the inference server; absent: the one of the version.', {
        max: 512,
        min: 1,
      }),
    ),
    resources: optional(resources('Processor time and memory of each inference server.')),
    models: optional(
      keyed('Models besides the ones that are built in.', model, {
        max: MODELS_MAX,
        keys: ['name'],
      }),
    ),
    modelVolume: optional(modelVolume),
    preloadTimeoutSeconds: integer(
      'How long an inference server may take to start and load its models before it is restarted.',
      { min: 10, max: PRELOAD_TIMEOUT_MAX_SECONDS, default: 600 },
    ),
    config: Type.Optional(
      openOptions('spec.inference.config', {
        description: 'Options of the inference server, as in its configuration file.',
        owned: OWNED_INFERENCE_OPTIONS,
      }),
    ),
  },
  { rules: INFERENCE_RULES, default: {} },
)
