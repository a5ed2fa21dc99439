{{- /* The verbs that the agent uses: apply is patch and, of what is not there yet, create;
       update is for Replace=true, delete for prune. */ -}}
{{- define "plumbline.read" -}}[get, list, watch]{{- end }}
{{- define "plumbline.write" -}}
{{ if .Values.destinations.write }}[get, list, watch, create, update, patch, delete]{{ else }}{{ include "plumbline.read" . }}{{ end }}
{{- end }}
{{- define "plumbline.destination-rules" -}}
{{- range include "plumbline.managed-kinds" . | fromYamlArray }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  verbs: {{ include "plumbline.write" $ }}
{{- end }}
{{- range .Values.observed }}
- apiGroups: {{ toJson .apiGroups }}
  resources: {{ toJson .resources }}
  verbs: {{ include "plumbline.read" $ }}
{{- end }}
{{- if and .Values.rights.impersonate .Values.destinations.write }}
- apiGroups: [""]
  resources: [serviceaccounts]
  {{- if not (has "*" .Values.rights.impersonate) }}
  resourceNames: {{ toJson .Values.rights.impersonate }}
  {{- end }}
  verbs: [impersonate]
{{- end }}
{{- if .Values.link.url }}
- apiGroups: [""]
  resources: [events]
  verbs: [get, list, watch]
{{- if .Values.link.logs }}
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end }}
{{- if .Values.link.exec }}
# A shell: the API server asks for get, because a WebSocket begins with it, and since 1.35 for create too.
- apiGroups: [""]
  resources: [pods/exec]
  verbs: [get, create]
{{- end }}
{{- end }}
{{- end }}
{{- /* The Secrets that the agent makes for itself. */ -}}
{{- define "plumbline.own-secrets" -}}
[gitops-agent-keys
{{- if include "plumbline.own-nats" . }}, {{ include "plumbline.nats-logins" . }}, {{ include "plumbline.nats-logins" . }}-subscriber{{ end }}
{{- if include "plumbline.own-redis" . }}, {{ include "plumbline.redis-password" . }}{{ end }}
{{- if .Values.link.url }}, gitops-agent-link{{ end }}]
{{- end }}
