{{- define "skua.name" -}}
{{- printf "%s" .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "skua.selector" -}}
app.kubernetes.io/name: skua
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "skua.labels" -}}
{{ include "skua.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
