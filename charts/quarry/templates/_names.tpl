{{- define "quarry.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "quarry.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-operator" (include "quarry.name" .) }}
{{- end }}
{{- end }}

{{/* Names of objects without a namespace: two releases in different namespaces must not share them. */}}
{{- define "quarry.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "quarry.fullname" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "quarry.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "quarry.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name, when serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Selectors never change, so they have neither the version nor the chart. */}}
{{- define "quarry.selectorLabels" -}}
app.kubernetes.io/name: quarry
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "quarry.labels" -}}
{{ include "quarry.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: quarry
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "quarry.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) }}
{{- end }}
{{- end }}
{{- end }}
