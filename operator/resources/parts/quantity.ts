// Amounts as Kubernetes writes them: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/

const QUANTITY =
  /^\+?(?<digits>[\d.]+)(?<unit>[KMGTPE]i|[numkMGTPE])?$|^\+?(?<exponential>[\d.]+[eE][+-]?\d+)$/
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']

/** The number that a quantity means; 0 for what is none, which the API server lets nobody write. */
export function quantityBytes(quantity: string): number {
  const { digits, unit = '', exponential } = QUANTITY.exec(quantity)?.groups ?? {}
  const value = Number(exponential ?? digits ?? 0) * factorOf(unit)
  return Number.isFinite(value) ? value : 0
}

function factorOf(unit: string): number {
  const binary = BINARY.indexOf(unit)
  return binary === -1
    ? 1000 ** (DECIMAL.indexOf(unit) - DECIMAL.indexOf(''))
    : 1024 ** (binary + 1)
}
