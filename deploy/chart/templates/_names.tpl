{{- define "plumbline.labels" -}}
app.kubernetes.io/name: plumbline
{{ include "plumbline.common-labels" . }}
{{- end }}
{{- /* The former name stays here: Kubernetes does not let the selector of a Deployment or StatefulSet change, so a new one would break each upgrade. */ -}}
{{- define "plumbline.selector" -}}
app.kubernetes.io/name: gitops-house
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "plumbline.pod-labels" -}}
app.kubernetes.io/name: gitops-house
{{ include "plumbline.common-labels" . }}
{{- end }}
{{- define "plumbline.common-labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: argocd
{{- end }}
{{- define "plumbline.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "plumbline.pod-security" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "plumbline.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
{{- define "plumbline.own-nats" -}}{{ if not .Values.nats.url }}yes{{ end }}{{- end }}
{{- define "plumbline.own-redis" -}}{{ if and .Values.redis.enabled (not .Values.redis.url) (not .Values.redis.urlSecret) }}yes{{ end }}{{- end }}
{{- /* Secrets that the agent makes; a chart holds none, and one made by a template would change with each rendering. */ -}}
{{- define "plumbline.nats-logins" -}}{{ .Release.Name }}-nats-logins{{- end }}
{{- define "plumbline.redis-password" -}}{{ .Release.Name }}-redis-password{{- end }}
{{- /* Where a URL leads to, if that is none of the usual ports: `{port: 3128}, `. */ -}}
{{- define "plumbline.port-of" -}}
{{- $port := regexFind ":[0-9]+$" (urlParse .).host | trimPrefix ":" }}
{{- if and $port (not (has $port (list "443" "6443" "80" "22" "4222" "6379"))) }}, {port: {{ $port }}}{{ end }}
{{- end }}
