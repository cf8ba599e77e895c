// Names of Kubernetes' objects, and references to objects of the same namespace.

import { flag, object, optional, text } from '../schema/fields.ts'

/** A name that may be a part of a domain name, as most objects have it. */
const SUBDOMAIN = String.raw`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
const SUBDOMAIN_LENGTH_MAX = 253
const SECRET_KEY = '^[-._a-zA-Z0-9]+$'

export function objectName(description: string) {
  return text(description, { max: SUBDOMAIN_LENGTH_MAX, min: 1, pattern: SUBDOMAIN })
}

export function secretKey(description: string) {
  return text(description, { max: SUBDOMAIN_LENGTH_MAX, min: 1, pattern: SECRET_KEY })
}

/** An object of the same namespace, by its name alone. */
export function reference(description: string) {
  return object(description, { name: objectName('The name of the object, in the same namespace.') })
}

/** One key of a ConfigMap or a Secret, as environment variables take it. */
export function keySelector(description: string) {
  return object(
    description,
    {
      name: objectName('The name of the object, in the same namespace.'),
      key: secretKey('The key whose value is taken.'),
      optional: optional(flag('Whether the pod starts although the object or the key is missing.')),
    },
    { atomic: true },
  )
}
