// Guards for the values of parsed JSON.

export function isListOf<T>(
  value: unknown,
  isMember: (member: unknown) => member is T,
): value is readonly T[] {
  return Array.isArray(value) && value.every((member) => isMember(member))
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value)
}
