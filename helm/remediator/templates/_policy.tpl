{{/* What the policy may do decides rights and refusals. The mode `off` is YAML's false. */}}
{{- define "remediator.acts" -}}
{{- $policy := fromYaml .Values.policy -}}
{{- $modes := list (get $policy "mode" | toString) -}}
{{- range (get $policy "modes" | default list) }}{{ $modes = append $modes (get . "mode" | toString) }}{{ end -}}
{{- if or (eq .Values.rbac.act "always") (has "approve" $modes) (has "enforce" $modes) }}true{{ end -}}
{{- end -}}

{{- define "remediator.scales" -}}
{{- $policy := fromYaml .Values.policy -}}
{{- $scales := false -}}
{{- range (get $policy "business" | default list) }}{{ if hasKey . "scale_on_pressure" }}{{ if not (kindIs "invalid" .scale_on_pressure) }}{{ $scales = true }}{{ end }}{{ end }}{{ end -}}
{{- if and $scales (include "remediator.acts" .) }}true{{ end -}}
{{- end -}}

{{/* namespace/name of Koordinator's ConfigMap, when the policy reads its thresholds from there. */}}
{{- define "remediator.koordinatorConfigMap" -}}
{{- get (get (fromYaml .Values.policy) "koordinator" | default dict) "config_map" | default "" -}}
{{- end -}}

{{- define "remediator.forces" -}}
{{- if and (get (get (fromYaml .Values.policy) "safeguards" | default dict) "force_delete") (include "remediator.acts" .) }}true{{ end -}}
{{- end -}}

{{- define "remediator.profile" -}}
{{- get (fromYaml .Values.policy) "profile" | default "graded" -}}
{{- end -}}

{{/* Combinations that cannot work are refused before anything is installed. */}}
{{- define "remediator.checks" -}}
{{- $policy := fromYaml .Values.policy -}}
{{- if hasKey $policy "Error" }}{{ fail (printf "policy is not a YAML mapping: %s. Check it with `remediator check-config FILE`." (get $policy "Error")) }}{{ end -}}
{{- $mode := get $policy "mode" | default "observe" | toString -}}
{{- if not (has $mode (list "off" "false" "observe" "approve" "enforce")) }}{{ fail (printf "policy: mode %q is unknown; write off, observe, approve or enforce" $mode) }}{{ end -}}
{{- range (get $policy "modes" | default list) }}{{ if not (has (get . "mode" | toString) (list "off" "false" "observe" "approve" "enforce")) }}{{ fail (printf "policy: modes: mode %q is unknown; write off, observe, approve or enforce" (get . "mode" | toString)) }}{{ end }}{{ end -}}
{{- with include "remediator.koordinatorConfigMap" . }}{{ if ne (len (splitList "/" .)) 2 }}{{ fail (printf "policy: koordinator.config_map %q must be NAMESPACE/NAME, such as koordinator-system/slo-controller-config" .) }}{{ end }}{{ end -}}
{{- include "remediator.notifyChecks" . -}}
{{- if not (has (include "remediator.profile" .) (list "graded" "sentinel" "score")) }}{{ fail (printf "policy: profile %q is unknown; write graded, sentinel or score" (include "remediator.profile" .)) }}{{ end -}}
{{- if not .Values.image.repository }}{{ fail "image.repository is not set: build the image, push it to your registry (docs/install.md) and name it here" }}{{ end -}}
{{- if and .Values.exporter.enabled (not .Values.exporter.image.repository) }}{{ fail "exporter.image.repository is not set: build the image, push it to your registry (docs/install.md) and name it here, or say exporter.enabled=false" }}{{ end -}}
{{- if not .Values.prometheus.url }}{{ fail "prometheus.url is not set: the remediator asks Prometheus for everything, give its address, such as http://prometheus-operated.monitoring.svc:9090" }}{{ end -}}
{{- if not .Values.alertmanager.urls }}{{ fail "alertmanager.urls is empty: silences could not be respected, give the address of every Alertmanager peer" }}{{ end -}}
{{- if and (not .Values.webhook.tokenSecret.name) (not .Values.webhook.insecure) }}{{ fail "webhook.tokenSecret.name is not set: make a secret with `kubectl create secret generic remediator-webhook --from-literal=token=$(openssl rand -hex 32)` and name it here, or say webhook.insecure=true" }}{{ end -}}
{{- if and .Values.webhook.tokenSecret.name .Values.webhook.insecure }}{{ fail "webhook.insecure and webhook.tokenSecret.name contradict one another: keep one" }}{{ end -}}
{{- if and .Values.webhook.tokenSecret.name (eq (printf "%s/%s" .Values.webhook.tokenSecret.name .Values.webhook.tokenSecret.key) (printf "%s/%s" .Values.operators.tokensSecret.name .Values.operators.tokensSecret.key)) }}{{ fail "operators.tokensSecret is the webhook's own: whoever may call the webhook could approve plans, make a secret of their own for operators" }}{{ end -}}
{{- if and .Values.rbac.create (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}{{ fail "serviceAccount.create is false and serviceAccount.name is empty: the namespace's default account, and with it every pod there, would get the rights; name an account" }}{{ end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.from) }}{{ fail "networkPolicy.enabled without networkPolicy.from: Prometheus and Alertmanager could not reach the remediator, name who may" }}{{ end -}}
{{- if and .Values.rules.create (ne .Values.prometheus.scrapeInterval "5s") }}{{ fail "prometheus.scrapeInterval is not 5s, for which the chart's rules are made: set rules.create=false and load those of `remediator rules --scrape-interval`" }}{{ end -}}
{{- end -}}

{{/* A target whose address is mounted nowhere would never be told anything. */}}
{{- define "remediator.notifyChecks" -}}
{{- $mounts := list -}}
{{- range .Values.extraVolumeMounts }}{{ $mounts = append $mounts (printf "%s/" (trimSuffix "/" .mountPath)) }}{{ end -}}
{{- if .Values.notifications.secretName }}{{ $mounts = append $mounts (printf "%s/" (include "remediator.notifyPath" .)) }}{{ end -}}
{{- range $target := (get (fromYaml .Values.policy) "notifications" | default list) -}}
{{- range $key := list "url_file" "secret_file" -}}
{{- $file := get $target $key | default "" -}}
{{- $held := eq $file "" -}}
{{- range $mounts }}{{ if hasPrefix . $file }}{{ $held = true }}{{ end }}{{ end -}}
{{- if not $held }}{{ fail (printf "policy: notifications: %s %s is mounted nowhere: put it into a secret, name that in notifications.secretName and write %s/KEY" $key $file (include "remediator.notifyPath" $)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
