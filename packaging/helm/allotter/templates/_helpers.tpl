{{- define "allotter.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}-allotter
{{- end }}

{{- define "allotter.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "allotter.labels" -}}
{{ include "allotter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "allotter.hosts" -}}
{{ include "allotter.name" . }},{{ include "allotter.name" . }}.{{ .Release.Namespace }},{{ include "allotter.name" . }}.{{ .Release.Namespace }}.svc,{{ include "allotter.name" . }}.{{ .Release.Namespace }}.svc.cluster.local
{{- range .Values.allowedHosts }},{{ . }}{{ end }}
{{- end }}

{{- define "allotter.probe" -}}
port: http
{{- if .Values.tls.existingSecret }}
scheme: HTTPS
{{- end }}
httpHeaders: [{ name: Host, value: localhost }]
{{- end }}
