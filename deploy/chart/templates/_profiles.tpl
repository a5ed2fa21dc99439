{{- /* The kinds that each profile lets the agent write. No rule has a `*`, and none has `escalate`
       or `bind`: what the agent grants with a Role, it holds itself. */ -}}
{{- define "plumbline.namespaced-kinds" }}
- apiGroups: [""]
  resources: [configmaps, secrets, services, serviceaccounts, persistentvolumeclaims, limitranges, resourcequotas]
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
- apiGroups: [batch]
  resources: [jobs, cronjobs]
- apiGroups: [networking.k8s.io]
  resources: [ingresses, networkpolicies]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
{{- end }}
{{- define "plumbline.role-kinds" }}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
{{- end }}
{{- define "plumbline.cluster-kinds" }}
- apiGroups: [""]
  resources: [namespaces, persistentvolumes]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles, clusterrolebindings]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, csidrivers]
- apiGroups: [scheduling.k8s.io]
  resources: [priorityclasses]
- apiGroups: [networking.k8s.io]
  resources: [ingressclasses]
- apiGroups: [node.k8s.io]
  resources: [runtimeclasses]
- apiGroups: [admissionregistration.k8s.io]
  resources: [validatingwebhookconfigurations, mutatingwebhookconfigurations, validatingadmissionpolicies, validatingadmissionpolicybindings]
- apiGroups: [apiregistration.k8s.io]
  resources: [apiservices]
{{- end }}
{{- define "plumbline.managed-kinds" }}
{{- $profile := .Values.rights.profile }}
{{- if ne $profile "kinds" }}{{ include "plumbline.namespaced-kinds" . }}{{ end }}
{{- if or .Values.rights.roles (eq $profile "cluster") }}{{ include "plumbline.role-kinds" . }}{{ end }}
{{- if eq $profile "cluster" }}{{ include "plumbline.cluster-kinds" . }}{{ end }}
{{- with .Values.rights.kinds }}
{{ toYaml . }}
{{- end }}
{{- end }}
