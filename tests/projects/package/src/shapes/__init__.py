from .models import Net as Classifier
